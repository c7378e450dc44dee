/** Shapes: how many elements, which axis differs, how they are written. */
import { t } from "@lingui/core/macro";

/** -1 is a variable axis. */
export type Shape = readonly number[];

export function elementCount(shape: Shape): number {
  return shape.reduce((count, axis) => count * axis, 1);
}

export function shapeText(shape: Shape): string {
  return shape.length === 0 ? t`scalar` : shape.map((axis) => (axis < 0 ? t`-1 (any)` : String(axis))).join(" × ");
}

/** Metadata may name a variable axis instead of numbering it -1. */
export function dimsOf(shape: readonly (number | string)[]): number[] {
  return shape.map((axis) => {
    const size = Number(axis);
    return Number.isInteger(size) && size >= 0 ? size : -1;
  });
}

function matches(actual: Shape, expected: Shape): boolean {
  return actual.length === expected.length && actual.every((axis, index) => expected[index] === -1 || expected[index] === axis);
}

/** "3 × 224 × 223 sent, 3 × 224 × 224 expected (axis 3)"; null when the shapes agree. */
export function shapeDifference(actual: Shape, expected: Shape): string | null {
  if (matches(actual, expected)) return null;
  const axis =
    actual.length === expected.length ? actual.findIndex((size, index) => expected[index] !== -1 && expected[index] !== size) + 1 : 0;
  const where = axis > 0 ? t`axis ${axis}` : t`${actual.length} axes instead of ${expected.length}`;
  return t`${shapeText(actual)} sent, ${shapeText(expected)} expected (${where})`;
}

/** Fills variable axes from the sizes that were typed; null while one is missing or not a whole number of at least 0. */
export function resolveAxes(dims: Shape, sizes: Readonly<Record<number, string>>): number[] | null {
  const resolved: number[] = [];
  for (const [axis, size] of dims.entries()) {
    if (size >= 0) {
      resolved.push(size);
      continue;
    }
    const typed = sizes[axis] ?? "";
    if (!/^\d+$/.test(typed.trim())) return null;
    resolved.push(Number(typed));
  }
  return resolved;
}
