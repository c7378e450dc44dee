import { describe, expect, it } from "vitest";
import { ensembleSpec, looseGraph, pipelineGraph, type PipelineModel } from "./graph";

const step = (model_name: string, input_map: Record<string, string>, output_map: Record<string, string>) => ({
  model_name,
  input_map,
  output_map,
});

const graphOf = (config: Record<string, unknown>, models: PipelineModel[] = []) => {
  const spec = ensembleSpec(config);
  return spec ? pipelineGraph(spec, models) : null;
};

describe("the drawing of an ensemble", () => {
  it("puts steps behind what they wait for", () => {
    const graph = graphOf({
      input: [{ name: "text" }],
      output: [{ name: "answer" }],
      ensemble_scheduling: {
        step: [
          step("join", { a: "left", b: "right" }, { y: "answer" }),
          step("one", { x: "text" }, { y: "left" }),
          step("two", { x: "text" }, { y: "right" }),
        ],
      },
    });
    expect(graph?.nodes.map(({ title, column, row }) => [title, column, row])).toEqual([
      ["inputs", 0, 0],
      ["join", 2, 0],
      ["one", 1, 0],
      ["two", 1, 1],
      ["outputs", 3, 0],
    ]);
    expect(graph?.edges).toContainEqual({ from: "step 1", to: "step 0", tensor: "left", type: "" });
    expect(graph?.edges).toContainEqual({ from: "inputs", to: "step 2", tensor: "text", type: "" });
    expect(graph?.edges).toContainEqual({ from: "step 0", to: "outputs", tensor: "answer", type: "" });
    expect([graph?.columns, graph?.rows]).toEqual([4, 2]);
  });

  it("tells of each tensor the type that its maker gives it", () => {
    const graph = graphOf(
      {
        input: [{ name: "text", data_type: "TYPE_STRING", dims: ["1"] }],
        output: [{ name: "answer", dataType: "TYPE_FP32", dims: [2] }],
        ensemble_scheduling: { step: [step("split", { x: "text" }, { y: "words" }), step("unknown", { a: "words" }, { b: "answer" })] },
      },
      [{ name: "split", inputs: [], outputs: [{ name: "y", datatype: "INT64", shape: [-1, 8] }] }],
    );
    expect(graph?.edges.map((edge) => [edge.tensor, edge.type])).toEqual([
      ["text", "STRING 1"],
      ["words", "INT64 -1\u00a0(any) × 8"],
      ["answer", "FP32 2"],
    ]);
  });

  it("ends also when steps wait for each other, and leaves out what nobody makes", () => {
    const graph = graphOf({
      output: [{ name: "b" }],
      ensemble_scheduling: {
        step: [step("one", { x: "b" }, { y: "a" }), step("two", { x: "a" }, { y: "b" }), step("three", { x: "nobody" }, {})],
      },
    });
    expect(graph?.nodes).toHaveLength(5);
    expect(graph?.edges.some((edge) => edge.tensor === "nobody")).toBe(false);
  });

  it("is none for other models", () => {
    expect(ensembleSpec(null)).toBeNull();
    expect(ensembleSpec({ input: [] })).toBeNull();
    expect(ensembleSpec({ ensemble_scheduling: { step: [] } })).toBeNull();
  });
});

it("draws models of which nobody knows who calls whom side by side, without edges", () => {
  const graph = looseGraph(["a", "b", "c", "d"]);
  expect(graph.nodes.map(({ title, column, row }) => [title, column, row])).toEqual([
    ["a", 0, 0],
    ["b", 1, 0],
    ["c", 2, 0],
    ["d", 0, 1],
  ]);
  expect([graph.edges, graph.columns, graph.rows]).toEqual([[], 3, 2]);
});
