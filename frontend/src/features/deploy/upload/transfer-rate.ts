/** Speed and time left of a transfer, over the last few seconds: an average since the start would lie after a pause. */

export interface RateSample {
  /** Milliseconds of a monotonic clock. */
  at: number;
  bytes: number;
}

const WINDOW_MS = 4000;

export function addSample(samples: RateSample[], sample: RateSample): RateSample[] {
  return [...samples.filter((old) => sample.at - old.at <= WINDOW_MS), sample];
}

/** Bytes per second, or null while there is too little to tell. */
export function rateOf(samples: RateSample[]): number | null {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.at - first.at < 250) return null;
  return Math.max(0, (last.bytes - first.bytes) / ((last.at - first.at) / 1000));
}

export function secondsLeft(samples: RateSample[], total: number): number | null {
  const rate = rateOf(samples);
  const last = samples.at(-1);
  if (rate === null || last === undefined || rate <= 0) return null;
  return Math.max(0, (total - last.bytes) / rate);
}
