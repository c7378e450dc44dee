/**
 * Points stand for different stretches of time where a past is joined with live values (two seconds, then half of one). Here they
 * are brought to one width, or weighed by it. Pure.
 */

type Values = readonly (number | null)[];

/**
 * Seconds that each point stands for: the time since the one before, at most `widest`. The first stands for as many as it may, without
 * a limit for as many as the second. Series have points of their own for a silence (live/series.ts): the one after it is not as wide.
 */
export function widthsOf(times: readonly number[], widest: number = Number.POSITIVE_INFINITY): number[] {
  const [first = 0, second = first + 1] = times;
  const firstWidth = Number.isFinite(widest) ? widest : second - first;
  return times.map((at, index) => (index === 0 ? firstWidth : Math.min(widest, at - (times[index - 1] ?? at))));
}

export interface Evenly {
  /** Seconds; buckets lie on a grid of `step`, so that what is past does not change while time goes on. */
  from: number;
  to: number;
  step: number;
  /** No point stands for more seconds: a silence stays a gap. */
  widest: number;
}

/** Means of buckets of one width, each point weighed by the part of the bucket that it stands for; null where none does. */
export function evenly(times: readonly number[], values: Values, { from, to, step, widest }: Evenly): (number | null)[] {
  const first = Math.floor(from / step);
  const count = Math.max(0, Math.ceil(to / step) - first);
  const sums = new Float64Array(count);
  const weights = new Float64Array(count);
  const widths = widthsOf(times, widest);
  times.forEach((end, index) => {
    const value = values[index] ?? null;
    if (value === null) return;
    const start = end - (widths[index] ?? 0);
    const last = Math.min(count - 1, Math.ceil(end / step) - 1 - first);
    for (let bucket = Math.max(0, Math.floor(start / step) - first); bucket <= last; bucket += 1) {
      const left = (first + bucket) * step;
      const weight = Math.min(end, left + step) - Math.max(start, left);
      if (weight <= 0) continue;
      sums[bucket] = (sums[bucket] ?? 0) + value * weight;
      weights[bucket] = (weights[bucket] ?? 0) + weight;
    }
  });
  return Array.from(sums, (sum, bucket) => (weights[bucket] ? sum / (weights[bucket] ?? 1) : null));
}

/** Mean over time: each point counts by the time that it stands for. */
export function meanOverTime(times: readonly number[], values: Values): number | null {
  const widths = widthsOf(times);
  let sum = 0;
  let weight = 0;
  values.forEach((value, index) => {
    if (value === null) return;
    sum += value * (widths[index] ?? 0);
    weight += widths[index] ?? 0;
  });
  return weight > 0 ? sum / weight : null;
}
