/** Counts of values in equal steps. Pure. */
import { finiteRange } from "./pixels";

export interface Bins {
  low: number;
  step: number;
  counts: number[];
}

const STEPS = 32;

/** Null without two different finite values. */
export function binned(values: ArrayLike<number>): Bins | null {
  const range = finiteRange(values);
  if (range === null || range.low === range.high) return null;
  const step = (range.high - range.low) / STEPS;
  const counts = Array.from({ length: STEPS }, () => 0);
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? NaN;
    if (!Number.isFinite(value)) continue;
    const bin = Math.min(STEPS - 1, Math.floor((value - range.low) / step));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return { low: range.low, step, counts };
}
