/**
 * Points stand for different stretches of time where a past is joined with live values (two seconds, then half of one). Here they
 * are brought to one width, or weighed by it. Pure.
 */

type Values = readonly (number | null)[];

export interface Evenly {
  /** Seconds; buckets lie on a grid of `step`, so that what is past does not change while time goes on. */
  from: number;
  to: number;
  step: number;
  /** A point stands for the time since the one before it, at most for so many seconds: a silence stays a gap. */
  widest: number;
}

/** Means of buckets of one width, each point weighed by the part of the bucket that it stands for; null where none does. */
export function evenly(times: readonly number[], values: Values, { from, to, step, widest }: Evenly): (number | null)[] {
  const first = Math.floor(from / step);
  const count = Math.max(0, Math.ceil(to / step) - first);
  const sums = new Float64Array(count);
  const weights = new Float64Array(count);
  times.forEach((end, index) => {
    const value = values[index] ?? null;
    if (value === null) return;
    const start = Math.max(times[index - 1] ?? Number.NEGATIVE_INFINITY, end - widest);
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

/** Mean over time: a point counts by its distance to the nearer of its neighbours, so that one after a silence does not count for the silence. */
export function meanOverTime(times: readonly number[], values: Values): number | null {
  let sum = 0;
  let weight = 0;
  values.forEach((value, index) => {
    if (value === null) return;
    const at = times[index] ?? Number.NaN;
    const before = at - (times[index - 1] ?? Number.NEGATIVE_INFINITY);
    const after = (times[index + 1] ?? Number.POSITIVE_INFINITY) - at;
    const width = Math.min(before, after);
    // A point that is alone stands for itself.
    const counted = Number.isFinite(width) ? width : 1;
    sum += value * counted;
    weight += counted;
  });
  return weight > 0 ? sum / weight : null;
}
