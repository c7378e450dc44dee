import { expect, it } from "vitest";
import { binned } from "./bins";

it("counts every finite value once, the largest in the last step", () => {
  const bins = binned([0, 0, 16, 32, NaN, Infinity]);
  expect(bins).toMatchObject({ low: 0, step: 1 });
  expect([0, 16, 31].map((at) => bins?.counts[at])).toEqual([2, 1, 1]);
  expect(bins?.counts.reduce((a, b) => a + b)).toBe(4);
  expect(binned([3, 3])).toBeNull();
});
