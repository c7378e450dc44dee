import { describe, expect, it } from "vitest";
import type { OutputTensor } from "./output-tensor";
import { viewsOf, type View } from "./views";

const tensor = (datatype: string, shape: number[], part: Partial<OutputTensor> = {}): OutputTensor => ({
  name: "y",
  datatype,
  shape,
  elements: [],
  complete: true,
  stats: null,
  ...part,
});
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);

/** Eight steps of eight classes, as a softmax leaves them. */
const STEPS = Array.from({ length: 64 }, (_, index) => (index % 8 === 3 ? 0.93 : 0.01));

describe("ways to look at an output", () => {
  it.each<[string, OutputTensor, View[]]>([
    ["scores of classes", tensor("FP32", [1, 1000]), ["classes", "values", "json"]],
    ["scores of a batch", tensor("FP16", [4, 10]), ["classes", "values", "heat", "json"]],
    ["one number", tensor("FP32", [1]), ["values", "json"]],
    ["whole numbers", tensor("INT64", [10]), ["values", "json"]],
    ["a picture of floats", tensor("FP32", [1, 3, 64, 64]), ["picture", "values", "heat", "json"]],
    ["a mask of bytes", tensor("UINT8", [1, 64, 64]), ["picture", "values", "heat", "json"]],
    ["a matrix", tensor("FP32", [2, 4, 5]), ["values", "heat", "json"]],
    ["boxes", tensor("FP32", [1, 12, 4]), ["values", "heat", "json"]],
    ["texts", tensor("BYTES", [2], { elements: ["a", "b"] }), ["text", "values", "json"]],
    ["encoded pictures", tensor("BYTES", [1], { elements: [PNG] }), ["picture", "text", "values", "json"]],
    ["truths", tensor("BOOL", [4, 4]), ["values", "json"]],
    ["a part of a large output", tensor("FP32", [1, 3, 4096, 4096], { complete: false }), ["values", "json"]],
    ["nothing", tensor("FP32", [0, 4]), ["values", "classes", "json"]],
    ["a few numbers", tensor("FP32", [1, 4], { elements: [5.1, 3.5, -1.4, 0.2] }), ["values", "classes", "json"]],
    ["a few probabilities", tensor("FP32", [2, 2], { elements: [0.9, 0.1, 0.5, 0.5] }), ["classes", "values", "heat", "json"]],
    ["probabilities at each step", tensor("FP32", [1, 8, 8], { elements: STEPS }), ["values", "heat", "picture", "json"]],
    ["a picture that is dark", tensor("FP32", [1, 8, 8], { elements: Array(64).fill(0) }), ["picture", "values", "heat", "json"]],
  ])("%s", (_, given, views) => expect(viewsOf(given)).toEqual(views));

  it("opens with classes that have names, however few they are", () => {
    expect(viewsOf(tensor("FP32", [1, 3], { elements: [2.5, -1, 0.1] }), true)).toEqual(["classes", "values", "json"]);
  });
});
