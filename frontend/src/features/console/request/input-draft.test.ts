import { describe, expect, it } from "vitest";
import { newFill } from "@/inference/tensor/samples";
import { buildInput, fitShape } from "./build-input";
import { nestedText, switchMode, withFill, withTensor } from "./fill-draft";
import { modeOf, modesOf, newDraft, type Batch, type InputDraft } from "./input-draft";

const ONE: Batch = { on: true, size: 1 };
const NONE: Batch = { on: false, size: 1 };

const draft = (datatype: string, shape: (number | string)[], part: Partial<InputDraft> = {}): InputDraft => ({
  ...newDraft({ name: "scale_0.tmp_1", datatype, shape }),
  ...part,
});

describe("the widget", () => {
  it("follows datatype and shape", () => {
    expect(newDraft({ name: "x", datatype: "BOOL", shape: [1] }).mode).toBe("cells");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [32] }).mode).toBe("cells");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [33] }).mode).toBe("grid");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [4, 4] }).mode).toBe("grid");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [400, 400] }).mode).toBe("paste");
    expect(newDraft({ name: "x", datatype: "INT64", shape: [3, 224, 224] }).mode).toBe("paste");
    expect(newDraft({ name: "image", datatype: "INT64", shape: [3, 224, 224] }).mode).toBe("image");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [-1, -1, -1] }).mode).toBe("cells");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [3, 224, 224] }).mode).toBe("image");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [1, 8, 8] }).mode).toBe("grid");
    expect(newDraft({ name: "x", datatype: "BYTES", shape: [3, 224, 224] }).mode).toBe("paste");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [] }).mode).toBe("cells");
  });

  it("gives way when the batch outgrows it", () => {
    const vector = draft("FP32", [4]);
    expect(modeOf(vector, { on: true, size: 8 })).toBe("cells");
    expect(modeOf(vector, { on: true, size: 9 })).toBe("grid");
    expect(modeOf(vector, { on: true, size: 9000 })).toBe("paste");
    expect(modesOf(draft("FP32", [1, 8, 8]), ONE)).toEqual(["image", "grid", "paste", "file", "sample"]);
    expect(modesOf(draft("BOOL", [1]), ONE)).toEqual(["cells", "grid", "paste", "file", "sample"]);
  });
});

describe("buildInput", () => {
  it("reads cells, with zeros where nothing was typed", () => {
    expect(buildInput(draft("INT64", [3], { cells: ["9007199254740993"] }), ONE)).toEqual({
      ok: true,
      input: {
        name: "scale_0.tmp_1",
        datatype: "INT64",
        shape: [1, 3],
        elements: ["9007199254740993", "0", "0"],
        bytes: 24,
      },
    });
  });

  it("names the tensor and the value that is wrong", () => {
    expect(buildInput(draft("UINT8", [2], { cells: ["1", "256"] }), ONE)).toEqual({
      ok: false,
      error: "scale_0.tmp_1: value 2: 256 is outside UINT8 (0 to 255)",
    });
  });

  it("asks for the size of variable axes in cells, and takes it from pasted data", () => {
    expect(buildInput(draft("FP32", ["n"], { mode: "cells", sizes: { 0: "2" } }), NONE)).toMatchObject({
      input: { shape: [2] },
    });
    expect(buildInput(draft("FP32", ["n"], { mode: "paste", pasted: "1 2 3" }), NONE)).toMatchObject({
      input: { shape: [3] },
    });
    expect(buildInput(draft("FP32", [-1, 4], { mode: "paste", pasted: "[[1,2,3,4],[5,6,7,8]]" }), NONE)).toMatchObject({
      input: { shape: [2, 4] },
    });
    expect(buildInput(draft("FP32", [-1, 4], { mode: "paste", pasted: "1 2 3" }), NONE)).toMatchObject({ ok: false });
  });

  it("says which axis of pasted data differs", () => {
    const big = draft("FP32", [2, 40], { mode: "paste", pasted: "[[1,2],[3,4]]" });
    expect(buildInput(big, ONE)).toEqual({
      ok: false,
      error: "scale_0.tmp_1: 1 × 2 × 2 sent, 1 × 2 × 40 expected (axis 3)",
    });
    expect(buildInput(draft("FP32", [40], { mode: "paste", pasted: "1 2" }), ONE)).toEqual({
      ok: false,
      error: "scale_0.tmp_1: 2 values sent, 40 expected (1 × 40)",
    });
  });

  it("fills a batch with pictures, round and round", () => {
    const image = draft("UINT8", [16, 16, 1]);
    const picture = (value: number, part = {}) => ({
      filename: `${value}.png`,
      elements: new Float32Array(256).fill(value),
      height: 16,
      width: 16,
      ...part,
    });
    const result = buildInput({ ...image, pictures: [picture(1.6), picture(300)] }, { on: true, size: 3 });
    if (!result.ok) throw new Error(result.error);
    expect(result.input.shape).toEqual([3, 16, 16, 1]);
    expect([0, 256, 512].map((at) => result.input.elements[at])).toEqual([2, 255, 2]);
    expect(result.input.bytes).toBe(768);
    expect(buildInput(image, ONE)).toMatchObject({ ok: false });
    const odd = buildInput({ ...image, pictures: [picture(1), picture(2, { width: 8 })] }, ONE);
    expect(odd).toMatchObject({ error: "scale_0.tmp_1: 2.png is 8 × 16, 1.png 16 × 16: a batch needs one size" });
  });

  it("takes a file's own shape, or fits its values", () => {
    const file = { name: "a.npy", elements: [1, 2, 3, 4], note: ".npy" };
    const square = draft("FP32", [2, 2], { mode: "file" });
    expect(buildInput({ ...square, file: { ...file, shape: [2, 2] } }, ONE)).toMatchObject({ input: { shape: [1, 2, 2] } });
    expect(buildInput({ ...square, file: { ...file, shape: null } }, ONE)).toMatchObject({ input: { shape: [1, 2, 2] } });
    expect(buildInput({ ...square, file: { ...file, shape: [4, 1] } }, ONE)).toMatchObject({ ok: false });
    expect(buildInput(square, ONE)).toMatchObject({ error: "scale_0.tmp_1: drop a file, or switch to values" });
  });
});

describe("fitShape", () => {
  it("accepts one item without its batch axis only for a batch of one", () => {
    expect(fitShape([2, 3], 6, [1, 2, 3])).toEqual({ shape: [1, 2, 3] });
    expect(fitShape([2, 3], 6, [2, 2, 3])).toHaveProperty("error");
  });
});

describe("withFill", () => {
  it.each([
    ["FP32", [4]],
    ["FP32", [3, 224, 224]],
    ["INT64", [-1, 40]],
    ["BOOL", [1]],
    ["BYTES", [1]],
    ["BYTES", [50]],
    ["UINT8", [3, 100, 100]],
  ])("fills %s %j so that it can be sent", (datatype, shape) => {
    for (const kind of ["zeros", "ones", "uniform", "normal", "count"] as const) {
      const filled = withFill(draft(datatype, shape), { on: true, size: 2 }, kind);
      expect(buildInput(filled, { on: true, size: 2 })).toMatchObject({ ok: true });
    }
  });

  it("gives the same values for the same seed, and new ones for another batch", () => {
    const sample = withFill(draft("FP32", [3, 64, 64]), ONE, newFill("uniform", "FP32", 7));
    expect(sample.mode).toBe("sample");
    expect(buildInput(sample, ONE)).toBe(buildInput(sample, ONE));
    expect(buildInput({ ...sample }, ONE)).toEqual(buildInput(sample, ONE));
    expect(buildInput(sample, { on: true, size: 2 })).toMatchObject({ input: { shape: [2, 3, 64, 64] } });
  });
});

describe("withTensor", () => {
  it("shows a saved tensor where it fits, and keeps it where it does not", () => {
    const small = withTensor(draft("INT64", [-1]), ONE, { shape: [1, 2], elements: ["9007199254740993", "-1"] }, "case");
    expect(small).toMatchObject({ mode: "cells", sizes: { 0: "2" }, cells: ["9007199254740993", "-1"] });
    expect(buildInput(small, ONE)).toMatchObject({ input: { shape: [1, 2], elements: ["9007199254740993", "-1"] } });
    const large = { shape: [1, 3, 64, 64], elements: new Float32Array(3 * 64 * 64).fill(0.5) };
    const kept = withTensor(draft("FP32", [3, 64, 64]), ONE, large, "case");
    expect(kept).toMatchObject({ mode: "file", file: { name: "case" } });
    expect(buildInput(kept, ONE)).toMatchObject({ input: { shape: [1, 3, 64, 64], bytes: 49_152 } });
    const bytes = withTensor(draft("BYTES", [1]), ONE, { shape: [1, 1], elements: [new Uint8Array([255])] }, "case");
    expect(bytes.mode).toBe("file");
  });
});

describe("switchMode", () => {
  it("carries the values over", () => {
    const typed = draft("FP32", [2, 2], { mode: "grid", cells: ["1", "2", "3", "NaN"] });
    const pasted = switchMode(typed, ONE, "paste");
    expect(pasted.pasted).toBe("[[[1, 2], [3, NaN]]]");
    expect(switchMode({ ...pasted, pasted: "[[5,6],[7,8]]" }, ONE, "grid").cells).toEqual(["5", "6", "7", "8"]);
    expect(switchMode({ ...pasted, pasted: "what" }, ONE, "grid").cells).toEqual(["1", "2", "3", "NaN"]);
  });

  it("takes the sizes of variable axes from pasted data", () => {
    const pasted = draft("FP32", [-1], { mode: "paste", pasted: "1 2 3" });
    expect(switchMode(pasted, ONE, "cells")).toMatchObject({ sizes: { 0: "3" }, cells: ["1", "2", "3"] });
  });
});

describe("nestedText", () => {
  it("nests as the shape says", () => {
    expect(nestedText(["1", "2", "3", "4"], [2, 2], "INT32")).toBe("[[1, 2], [3, 4]]");
    expect(nestedText(["a"], [1], "BYTES")).toBe('["a"]');
  });
});
