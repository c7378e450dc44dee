import { describe, expect, it } from "vitest";
import type { ConfigProblem } from "@/api/types";
import type { PipelineSpec } from "@/components/pipeline/graph";
import { readConfig } from "./config-fields";
import { inputChoices, outputChoices, renameProblem, specOf, type StepModel, stepProblems } from "./pipeline-fit";

const tensor = (name: string, datatype: string, shape: number[]) => ({ name, datatype, shape });
const SPEC: PipelineSpec = {
  inputs: [tensor("text", "STRING", [1])],
  outputs: [tensor("scores", "FP32", [3]), tensor("more", "FP32", [-1])],
  steps: [
    { model: "split", inputs: [["t", "text"]], outputs: [["ids", "ids"]] },
    { model: "net", inputs: [["x", "ids"]], outputs: [["y", "scores"]] },
    { model: "unknown", inputs: [], outputs: [["q", "something"]] },
  ],
};
const MODELS: StepModel[] = [
  { name: "split", versions: [1], batched: true, inputs: [tensor("t", "STRING", [1])], outputs: [tensor("ids", "INT64", [-1])] },
  { name: "net", versions: [1, 2], batched: true, inputs: [tensor("x", "INT64", [128])], outputs: [tensor("y", "FP32", [3])] },
];

const choices = (step: number, wanted: { name: string; datatype: string; shape: number[] }) =>
  inputChoices(SPEC, MODELS, true, step, wanted).map((one) => [one.tensor, one.from, one.reason]);

describe("what an input may take", () => {
  it("fits by type and shape, of what is made before; others come last, with the reason", () => {
    expect(choices(1, tensor("x", "INT64", [128]))).toEqual([
      ["ids", "split", null],
      ["something", "unknown", null],
      ["text", "inputs", "STRING, wanted is INT64"],
      ["scores", "net", "it is made after this step"],
    ]);
  });

  it("is no tensor of a step that waits for this one", () => {
    expect(choices(0, tensor("t", "STRING", [1]))).toEqual([
      ["text", "inputs", null],
      ["something", "unknown", null],
      ["ids", "split", "it is made after this step"],
      ["scores", "net", "it is made after this step"],
    ]);
  });

  it.each([
    [[128], true],
    [[-1], true],
    [[64, 2], false],
  ])("a shape of %j", (shape, fits) => {
    const found = inputChoices(SPEC, MODELS, true, 1, tensor("x", "INT64", shape)).find((one) => one.tensor === "ids");
    expect(found?.reason === null).toBe(fits);
  });

  it("a model without batching may spell the batch axis out", () => {
    const plain = MODELS.map((one) => (one.name === "net" ? { ...one, batched: false } : one));
    const found = (shape: number[]) => inputChoices(SPEC, plain, true, 1, tensor("x", "INT64", shape)).find((one) => one.tensor === "ids");
    expect(found([-1, 8])?.reason).toBeNull();
    expect(found([1, 2, 3])?.reason).toBe("shape INT64 -1\u00a0(any), wanted is INT64 1 × 2 × 3");
  });
});

it("an output is what a step makes, and no other output", () => {
  expect(outputChoices(SPEC, MODELS, true, tensor("more", "FP32", [-1])).map((one) => [one.tensor, one.reason])).toEqual([
    ["something", null],
    ["text", "it is an input of the ensemble"],
    ["ids", "INT64, wanted is FP32"],
    ["scores", "it is another output"],
  ]);
});

it("a tensor's new name is free", () => {
  expect(renameProblem(" ", new Set())).toBe("A tensor needs a name");
  expect(renameProblem("ids", new Set(["ids"]))).toBe("Another tensor is called ids");
  expect(renameProblem("words", new Set(["ids"]))).toBeNull();
});

it("what the checks say belongs to the step that they name", () => {
  const problem = (field: string | null) => ({ field, message: String(field) }) as ConfigProblem;
  const all = [
    problem("ensemble_scheduling[0].step[1].model_name"),
    problem("ensemble_scheduling[0].step[12]"),
    problem("ensemble_scheduling"),
    problem("input[0].name"),
    problem(null),
  ];
  const fields = (index: number | null) => stepProblems(all, index).map((one) => one.field);
  expect([fields(1), fields(12), fields(2), fields(null)]).toEqual([[all[0]?.field], [all[1]?.field], [], ["ensemble_scheduling"]]);
});

it("the drawing is read from the text", () => {
  const text = `input [ { name: "a" data_type: TYPE_FP32 dims: [ 2 ] } ]
ensemble_scheduling { step { model_name: "m" input_map { key: "x" value: "a" } } }`;
  const { fields } = readConfig(text);
  expect(fields && specOf(fields)).toEqual({
    inputs: [tensor("a", "FP32", [2])],
    outputs: [],
    steps: [{ model: "m", version: null, inputs: [["x", "a"]], outputs: [] }],
  });
  expect(specOf(readConfig('name: "m"').fields as never)).toBeNull();
});
