import { describe, expect, it } from "vitest";
import {
  areProbabilities,
  barLength,
  barRange,
  bestClasses,
  foundClasses,
  isClassTensor,
  rankedClasses,
  softmax,
  topClasses,
} from "./class-scores";

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
});

describe("bars", () => {
  it("rank with labels, ties by index, NaN last", () => {
    const top = topClasses([0.1, NaN, 0.5, 0.5], ["a", "b", " c "], 4);
    expect(top.map(({ label }) => label)).toEqual(["c", "3", "a", "b"]);
  });

  it.each<[string, number[], boolean, number[]]>([
    ["probabilities as they are", [0.8, 0.2], true, [0.8, 0.2]],
    ["raw scores by their range", [3, -1], false, [1, 0]],
    ["nothing where all are the same", [0, 0], false, [0, 0]],
    ["what is no number", [1, NaN, Infinity], false, [1, 0, 0]],
  ])("scale %s", (_, values, probabilities, lengths) => {
    const range = barRange(values, probabilities);
    expect(values.map((value) => barLength(value, range))).toEqual(lengths);
  });
});

describe("many classes", () => {
  const MANY = 200_000;
  const values = Float64Array.from({ length: MANY }, (_, index) => (index * 7919) % MANY);
  const labels = Array.from(values, (_, index) => `class number ${index}`);

  it("are ranked like the best few of them", () => {
    const order = rankedClasses(values);
    expect(Array.from(order.subarray(0, 10))).toEqual(bestClasses(values, 10));
    expect(values[order[0] ?? -1]).toBe(MANY - 1);
    expect(values[order.at(-1) ?? -1]).toBe(0);
  });

  it("are found by name and by number, in their order", () => {
    const order = rankedClasses(values);
    expect(foundClasses(order, labels, " ")).toBe(order);
    expect(Array.from(foundClasses(order, null, "17"))).toEqual([17]);
    expect(Array.from(foundClasses(order, labels, "NUMBER 19999"))).toEqual(
      Array.from(order).filter((index) => String(index).startsWith("19999")),
    );
    expect(foundClasses(order, labels, "cat")).toHaveLength(0);
  });

  it("have probabilities", () => {
    expect(areProbabilities(softmax(values))).toBe(true);
    expect(barRange(values, false)).toEqual({ low: 0, high: MANY - 1 });
  });
});
