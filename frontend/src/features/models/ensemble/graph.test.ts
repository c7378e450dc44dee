import { describe, expect, it } from "vitest";
import { ensembleGraph } from "./graph";

const step = (model_name: string, input_map: Record<string, string>, output_map: Record<string, string>) => ({
  model_name,
  input_map,
  output_map,
});

describe("the drawing of an ensemble", () => {
  it("puts steps behind what they wait for", () => {
    const graph = ensembleGraph({
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
    expect(graph?.edges).toContainEqual({ from: "step 1", to: "step 0", tensor: "left" });
    expect(graph?.edges).toContainEqual({ from: "inputs", to: "step 2", tensor: "text" });
    expect(graph?.edges).toContainEqual({ from: "step 0", to: "outputs", tensor: "answer" });
    expect([graph?.columns, graph?.rows]).toEqual([4, 2]);
  });

  it("ends also when steps wait for each other, and leaves out what nobody makes", () => {
    const graph = ensembleGraph({
      output: [{ name: "b" }],
      ensemble_scheduling: {
        step: [step("one", { x: "b" }, { y: "a" }), step("two", { x: "a" }, { y: "b" }), step("three", { x: "nobody" }, {})],
      },
    });
    expect(graph?.nodes).toHaveLength(5);
    expect(graph?.edges.some((edge) => edge.tensor === "nobody")).toBe(false);
  });

  it("is none for other models", () => {
    expect(ensembleGraph(null)).toBeNull();
    expect(ensembleGraph({ input: [] })).toBeNull();
    expect(ensembleGraph({ ensemble_scheduling: { step: [] } })).toBeNull();
  });
});
