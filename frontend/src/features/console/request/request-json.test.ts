import { describe, expect, it } from "vitest";
import { buildInput } from "./build-input";
import { newDraft } from "./input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";
import { requestJson } from "@/inference/code/request-json";
import { readRequest } from "./request-json";

const BATCH = { on: true, size: 1 };
const DRAFTS = [
  { ...newDraft({ name: "a/b:0", datatype: "INT64", shape: [2] }), cells: ["9007199254740993", "-1"] },
  { ...newDraft({ name: "t.x", datatype: "BYTES", shape: [1] }), cells: ['say "hi"'] },
];

function inputs(): BuiltInput[] {
  return DRAFTS.map((draft) => {
    const result = buildInput(draft, BATCH);
    if (!result.ok) throw new Error(result.error);
    return result.input;
  });
}

describe("request JSON", () => {
  it("goes there and back without losing a digit", () => {
    const text = requestJson(inputs());
    expect(text).toContain("9007199254740993");
    expect(readRequest(text, DRAFTS, BATCH)).toEqual({ ok: true, inputs: inputs() });
  });

  it.each([
    ["{", "JSON"],
    ["[]", '"inputs"'],
    ['{"inputs":[{"name":"nope"}]}', "no input nope. It has: a/b:0, t.x"],
    ['{"inputs":[{"name":"a/b:0","datatype":"FP32","shape":[1,2],"data":[1,2]}]}', "takes INT64"],
    ['{"inputs":[{"name":"a/b:0","shape":[1,3],"data":[1,2,3]}]}', "1 × 3 sent, -1 (any) × 2 expected (axis 2)"],
    ['{"inputs":[{"name":"a/b:0","shape":[1,2],"data":[[1]]}]}', "1 values, but the shape holds 2"],
    ['{"inputs":[{"name":"a/b:0","shape":[1,2],"data":[1,2.5]}]}', "value 2"],
    ['{"inputs":[{"name":"a/b:0","shape":[1,2],"data":[1,2]}]}', "t.x is missing"],
  ])("refuses %s", (text, words) => {
    const read = readRequest(text, DRAFTS, BATCH);
    expect(read.ok).toBe(false);
    expect(read.ok ? "" : read.error).toContain(words);
  });
});
