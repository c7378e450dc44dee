import { describe, expect, it } from "vitest";
import { areProbabilities, barLengths, classRow, isClassTensor, softmax, topClasses } from "./class-scores";

describe("softmax", () => {
  it("sums to one and survives large scores", () => {
    const result = softmax([1000, 1001, 999]);
    expect(result.reduce((a, b) => a + b)).toBeCloseTo(1);
    expect(result[1]).toBeCloseTo(0.6652, 4);
    expect(softmax([-1e9, 0])).toEqual([0, 1]);
  });

  it("does not invent probabilities", () => {
    expect(softmax([-Infinity, -Infinity])).toEqual([NaN, NaN]);
  });
});

describe("class tensors", () => {
  it("are float vectors, alone or in a batch", () => {
    expect(isClassTensor("FP32", [10])).toBe(true);
    expect(isClassTensor("FP16", [4, 10])).toBe(true);
    expect(isClassTensor("FP32", [4, 1])).toBe(false);
    expect(isClassTensor("INT64", [10])).toBe(false);
    expect(isClassTensor("FP32", [1, 3, 4])).toBe(false);
  });

  it("know probabilities from raw scores", () => {
    expect(areProbabilities([0.25, 0.75])).toBe(true);
    expect(areProbabilities([0.25, 0.5])).toBe(false);
    expect(areProbabilities([-0.5, 1.5])).toBe(false);
    expect(areProbabilities([NaN, 1])).toBe(false);
  });

  it("give up one row", () => {
    expect(classRow([1, 2, 3, 4, 5, 6], [2, 3], 1)).toEqual([4, 5, 6]);
    expect(classRow([1, 2], [2], 0)).toEqual([1, 2]);
  });
});

describe("bars", () => {
  it("rank with labels, ties by index, NaN last", () => {
    const top = topClasses([0.1, NaN, 0.5, 0.5], ["a", "b", " c "], 4);
    expect(top.map(({ label }) => label)).toEqual(["c", "3", "a", "b"]);
  });

  it("scale probabilities as they are and raw scores by their range", () => {
    expect(barLengths(topClasses([0.2, 0.8], null, 2), true)).toEqual([0.8, 0.2]);
    expect(barLengths(topClasses([-1, 3], null, 2), false)).toEqual([1, 0]);
    expect(barLengths(topClasses([0, 0], null, 2), false)).toEqual([0, 0]);
  });
});
