import { describe, expect, it } from "vitest";
import type { ConsoleModel, TestCase } from "@/api/types";
import { buildAll, opening, warmupDrafts } from "./bench-state";

const MODEL: ConsoleModel = {
  name: "m",
  versions: [1],
  max_batch_size: 4,
  inputs: [
    { name: "x", datatype: "FP32", shape: [-1] },
    { name: "hint", datatype: "BYTES", shape: [1], optional: true },
  ],
  outputs: [],
  warmup: [{ name: "w", batch_size: 3, inputs: { x: { shape: [5], kind: "random" } } }],
};
const CASE = {
  id: "c1",
  name: "two",
  inputs: [{ name: "x", datatype: "FP32", shape: [2, 3], data: [1, 2, 3, 4, 5, 6] }],
} as unknown as TestCase;

describe("the form of a model", () => {
  it("opens with what can be sent at once", () => {
    const { drafts, size } = opening(MODEL, null, undefined);
    expect(buildAll(drafts, { on: true, size })).toMatchObject({ problem: null, inputs: [{ name: "x", shape: [1, 1] }] });
  });

  it("opens a saved case with its batch and its sizes", () => {
    const { drafts, size, problem } = opening(MODEL, CASE, undefined);
    expect([size, problem]).toEqual([2, null]);
    expect(drafts.map(({ include }) => include)).toEqual([true, false]);
    const built = buildAll(drafts, { on: true, size });
    expect(built.inputs.map(({ shape, elements }) => [shape, Array.from(elements)])).toEqual([
      [
        [2, 3],
        [1, 2, 3, 4, 5, 6],
      ],
    ]);
  });

  it("says what the model does not take any more", () => {
    const inputs = [{ name: "old", datatype: "INT8", shape: [1], data: [1] }];
    expect(opening(MODEL, { ...CASE, inputs }, undefined).problem).toContain("old (INT8)");
    const broken = [{ name: "x", datatype: "FP32", shape: [1], data: { b64: "AAA" } }];
    expect(opening(MODEL, { ...CASE, inputs: broken }, undefined).problem).not.toBeNull();
  });

  it("opens what a captured request sent", () => {
    const replay = { name: "request a", inputs: CASE.inputs, told: "" };
    const { drafts, size, problem } = opening(MODEL, replay, undefined);
    expect([size, problem]).toEqual([2, null]);
    expect(Array.from(buildAll(drafts, { on: true, size }).inputs[0]?.elements ?? [])).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("says what of a captured request is not sent again", () => {
    const { problem } = opening(MODEL, { name: "request a", inputs: [], told: "x: only digests of it are kept" }, undefined);
    expect(problem).toBe("x: only digests of it are kept. Not from the captured request, and filled with zeros: x.");
  });

  it("makes a warm-up request", () => {
    const { drafts, size } = warmupDrafts(MODEL, 0, opening(MODEL, null, undefined).drafts);
    expect(buildAll(drafts, { on: true, size }).inputs[0]?.shape).toEqual([3, 5]);
  });
});
