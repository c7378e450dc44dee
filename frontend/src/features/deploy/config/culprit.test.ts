import { describe, expect, it } from "vitest";
import { culpritOf } from "./culprit";

const MODELS = [
  { name: "prepare", text: 'name: "prepare"\nmax_batch_size: 4\n' },
  { name: "score", text: 'name: "score"\nbackend: "onnxruntime"\nmax_batch_size: 8\n' },
];

describe("the model and line that a failure is about", () => {
  it.each([
    ["unable to load 'score': max_batch_size is too large", { repo: "score", line: 3 }],
    ["max_batch_size is too large", { repo: "prepare", line: 2 }],
    ["it ended", null],
  ])("%s", (failure, found) => expect(culpritOf(failure, MODELS)).toEqual(found));
});
