import { describe, expect, it } from "vitest";
import { defaultOptions } from "../tensor/image-tensor";
import {
  buildInput,
  fitShape,
  layoutOf,
  modeOf,
  modesOf,
  nestedText,
  newDraft,
  withSample,
  type Batch,
  type InputDraft,
} from "./input-draft";

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
    expect(newDraft({ name: "x", datatype: "FP32", shape: [33] }).mode).toBe("paste");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [4, 4] }).mode).toBe("paste");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [3, 224, 224] }).mode).toBe("image");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [1, 8, 8] }).mode).toBe("paste");
    expect(newDraft({ name: "x", datatype: "BYTES", shape: [3, 224, 224] }).mode).toBe("paste");
    expect(newDraft({ name: "x", datatype: "FP32", shape: [] }).mode).toBe("cells");
  });

  it("gives way when the batch outgrows it", () => {
    const vector = draft("FP32", [4]);
    expect(modeOf(vector, { on: true, size: 8 })).toBe("cells");
    expect(modeOf(vector, { on: true, size: 9 })).toBe("paste");
    expect(modesOf(draft("FP32", [1, 8, 8]), ONE)).toEqual(["image", "paste"]);
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
    const big = draft("FP32", [2, 40], { pasted: "[[1,2],[3,4]]" });
    expect(buildInput(big, ONE)).toEqual({
      ok: false,
      error: "scale_0.tmp_1: 1 × 2 × 2 sent, 1 × 2 × 40 expected (axis 3)",
    });
    expect(buildInput(draft("FP32", [40], { pasted: "1 2" }), ONE)).toEqual({
      ok: false,
      error: "scale_0.tmp_1: 2 values sent, 40 expected (1 × 40)",
    });
  });

  it("repeats a picture over the batch", () => {
    const image = draft("UINT8", [16, 16, 1]);
    const layout = layoutOf(image);
    if (layout === null) throw new Error("16 × 16 × 1 is an image");
    const picture = {
      filename: "a.png",
      options: defaultOptions("UINT8", layout),
      elements: new Float32Array(256).fill(1.6),
      height: 16,
      width: 16,
    };
    const result = buildInput({ ...image, picture }, { on: true, size: 2 });
    if (!result.ok) throw new Error(result.error);
    expect(result.input.shape).toEqual([2, 16, 16, 1]);
    expect(result.input.elements).toHaveLength(512);
    expect(result.input.elements[511]).toBe(2);
    expect(result.input.bytes).toBe(512);
    expect(buildInput(image, ONE)).toMatchObject({ ok: false });
  });
});

describe("fitShape", () => {
  it("accepts one item without its batch axis only for a batch of one", () => {
    expect(fitShape([2, 3], 6, [1, 2, 3])).toEqual({ shape: [1, 2, 3] });
    expect(fitShape([2, 3], 6, [2, 2, 3])).toHaveProperty("error");
  });
});

describe("withSample", () => {
  it.each([
    ["FP32", [4]],
    ["FP32", [3, 224, 224]],
    ["INT64", [-1, 40]],
    ["BOOL", [1]],
    ["BYTES", [1]],
    ["BYTES", [50]],
  ])("fills %s %j so that it can be sent", (datatype, shape) => {
    for (const kind of ["zeros", "random"] as const) {
      const result = buildInput(
        withSample(draft(datatype, shape), { on: true, size: 2 }, kind, () => 0.5),
        { on: true, size: 2 },
      );
      expect(result).toMatchObject({ ok: true });
    }
  });
});

describe("buildInput again", () => {
  it("gives the same tensor for the same draft, and a new one for another batch", () => {
    const sample = withSample(draft("FP32", [3, 64, 64]), ONE, "random");
    expect(sample.mode).toBe("sample");
    expect(buildInput(sample, ONE)).toBe(buildInput(sample, ONE));
    expect(buildInput(sample, { on: true, size: 2 })).toMatchObject({ input: { shape: [2, 3, 64, 64] } });
  });
});

describe("nestedText", () => {
  it("nests as the shape says", () => {
    expect(nestedText(["1", "2", "3", "4"], [2, 2], "INT32")).toBe("[[1, 2], [3, 4]]");
    expect(nestedText(["a"], [1], "BYTES")).toBe('["a"]');
  });
});
