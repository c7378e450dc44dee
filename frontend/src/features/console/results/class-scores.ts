/** Output tensors as class scores: which are, what softmax makes of them, and the best of them. */

export interface ClassScore {
  index: number;
  label: string;
  /** As shown: a probability after softmax, else the raw value. */
  score: number;
}

/** Numerically stable; an empty or wholly -Infinity row stays without probabilities. */
export function softmax(values: readonly number[]): number[] {
  const highest = Math.max(...values);
  if (!Number.isFinite(highest)) return values.map(() => NaN);
  const powers = values.map((value) => Math.exp(value - highest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/** True for values in [0, 1] that sum to 1 within the rounding of half precision. */
export function areProbabilities(values: readonly number[]): boolean {
  if (values.length < 2 || values.some((value) => !(value >= 0 && value <= 1))) return false;
  return Math.abs(values.reduce((total, value) => total + value, 0) - 1) < 1e-2;
}

/** [N] or [B, N] with N of 2 or more floats. */
export function isClassTensor(datatype: string, shape: readonly number[]): boolean {
  const classes = shape.at(-1) ?? 0;
  return (
    (shape.length === 1 || shape.length === 2) && classes >= 2 && (datatype.startsWith("FP") || datatype === "BF16")
  );
}

/** Row `item` of a [B, N] tensor (item 0 of an [N] one). */
export function classRow(values: readonly number[], shape: readonly number[], item: number): number[] {
  const classes = shape.at(-1) ?? 0;
  return values.slice(item * classes, (item + 1) * classes);
}

export function topClasses(values: readonly number[], labels: readonly string[] | null, count: number): ClassScore[] {
  return values
    .map((score, index) => ({ index, score, label: labels?.[index]?.trim() || String(index) }))
    .sort((a, b) => (Number.isNaN(a.score) ? 1 : Number.isNaN(b.score) ? -1 : b.score - a.score || a.index - b.index))
    .slice(0, count);
}

/** Bar lengths from 0 to 1. Raw scores may be negative, so their bars run from the lowest shown value. */
export function barLengths(scores: readonly ClassScore[], probabilities: boolean): number[] {
  if (probabilities) return scores.map(({ score }) => (Number.isFinite(score) ? score : 0));
  const finite = scores.map(({ score }) => score).filter(Number.isFinite);
  const high = Math.max(...finite);
  const low = Math.min(0, ...finite);
  return scores.map(({ score }) => (Number.isFinite(score) && high > low ? (score - low) / (high - low) : 0));
}
