/** Output tensors as class scores: which are, what softmax makes of them, and the best of them. Pure. */
import { finiteRange } from "./pixels";

export interface ClassScore {
  index: number;
  label: string;
  /** As shown: a probability after softmax, else the raw value. */
  score: number;
}

type Scores = ArrayLike<number>;

// Loops, not spread arguments: an output may hold a million scores.
function reduced(values: Scores, start: number, step: (sum: number, value: number) => number): number {
  let result = start;
  for (let index = 0; index < values.length; index += 1) result = step(result, values[index] ?? NaN);
  return result;
}

/** Numerically stable; an empty or wholly -Infinity row stays without probabilities. */
export function softmax(values: Scores): number[] {
  const highest = reduced(values, -Infinity, Math.max);
  if (!Number.isFinite(highest)) return Array.from(values, () => NaN);
  const powers = Array.from(values, (value) => Math.exp(value - highest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/** True for values in [0, 1] that sum to 1 within the rounding of half precision. */
export function areProbabilities(values: Scores): boolean {
  if (values.length < 2 || !reduced(values, 1, (all, value) => (all && value >= 0 && value <= 1 ? 1 : 0))) return false;
  return Math.abs(reduced(values, 0, (total, value) => total + value) - 1) < 1e-2;
}

/** [N] or [B, N] with N of 2 or more floats. */
export function isClassTensor(datatype: string, shape: readonly number[]): boolean {
  const classes = shape.at(-1) ?? 0;
  return (shape.length === 1 || shape.length === 2) && classes >= 2 && (datatype.startsWith("FP") || datatype === "BF16");
}

export const classLabel = (labels: readonly string[] | null, index: number): string => labels?.[index]?.trim() || String(index);

/** Best first, ties by index, NaN last. */
function compared(values: Scores, a: number, b: number): number {
  const [first, second] = [values[a] ?? NaN, values[b] ?? NaN];
  if (Number.isNaN(first) || Number.isNaN(second)) return Number(Number.isNaN(first)) - Number(Number.isNaN(second)) || a - b;
  return second - first || a - b;
}

/** The indices of all classes, best first. */
export function rankedClasses(values: Scores): Uint32Array {
  return Uint32Array.from({ length: values.length }, (_, index) => index).sort((a, b) => compared(values, a, b));
}

/** The indices of the best few, without sorting the rest. */
export function bestClasses(values: Scores, count: number): number[] {
  const best: number[] = [];
  for (let index = 0; index < values.length; index += 1) {
    const worst = best.at(-1);
    if (best.length >= count && (worst === undefined || compared(values, index, worst) > 0)) continue;
    const at = best.findIndex((other) => compared(values, index, other) < 0);
    best.splice(at < 0 ? best.length : at, 0, index);
    best.length = Math.min(best.length, count);
  }
  return best;
}

export const topClasses = (values: Scores, labels: readonly string[] | null, count: number): ClassScore[] =>
  bestClasses(values, count).map((index) => ({ index, score: values[index] ?? NaN, label: classLabel(labels, index) }));

/** Of the classes in this order, those whose label holds the text, or whose number it is. Empty text finds all. */
export function foundClasses(order: Uint32Array, labels: readonly string[] | null, text: string): Uint32Array {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return order;
  return order.filter((index) => String(index) === wanted || (labels?.[index]?.toLowerCase().includes(wanted) ?? false));
}

/** Where the bars begin and end. Raw scores may be negative, so theirs run from the lowest one. */
export function barRange(values: Scores, probabilities: boolean): { low: number; high: number } {
  if (probabilities) return { low: 0, high: 1 };
  const range = finiteRange(values);
  return range === null ? { low: 0, high: 0 } : { low: Math.min(0, range.low), high: range.high };
}

/** Length of a bar from 0 to 1. */
export function barLength(score: number, { low, high }: { low: number; high: number }): number {
  return Number.isFinite(score) && high > low ? (score - low) / (high - low) : 0;
}
