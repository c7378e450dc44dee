import { describe, expect, it } from "vitest";
import { type Known, withCalls } from "./calls";
import { ensembleSpec, looseGraph, pipelineGraph, type PipelineGraph, type PipelineSpec } from "./graph";

const known = (calls: readonly [string, string][], part: Partial<Known> = {}): Known => ({
  calls: calls.map(([caller, callee]) => ({ caller, callee })),
  specs: new Map(),
  models: [],
  ...part,
});
const places = (graph: PipelineGraph) => graph.nodes.map(({ title, column, row }) => `${title} ${column} ${row}`);
const pairs = (graph: PipelineGraph) => {
  const title = new Map(graph.nodes.map((node) => [node.key, node.title]));
  return [...new Set(graph.edges.filter((edge) => edge.via).map((edge) => `${title.get(edge.from)} ${title.get(edge.to)}`))];
};
const spec = (...models: string[]): PipelineSpec => {
  const step = models.map((model_name, at) => ({ model_name, input_map: { x: `t${at}` }, output_map: { y: `t${at + 1}` } }));
  const found = ensembleSpec({ input: [{ name: "t0" }], output: [{ name: `t${models.length}` }], ensemble_scheduling: { step } });
  if (!found) throw new Error("no ensemble");
  return found;
};

describe("whom a model calls", () => {
  it.each<[string, [string, string][], string[], string[]]>([
    ["nobody", [], ["a 0 0"], []],
    ["two", [["a", "b"], ["a", "c"]], ["a 0 0", "b 1 0", "c 1 1"], ["a b", "a c"]], // prettier-ignore
    ["in a row", [["a", "b"], ["b", "c"]], ["a 0 0", "b 1 0", "c 2 0"], ["a b", "b c"]], // prettier-ignore
    ["the longest way says the column", [["a", "c"], ["a", "b"], ["b", "c"]], ["a 0 0", "c 2 0", "b 1 0"], ["a c", "a b", "b c"]], // prettier-ignore
    ["itself", [["a", "a"]], ["a 0 0"], ["a a"]],
    ["in a ring", [["a", "b"], ["b", "a"]], ["a 0 0", "b 1 0"], ["a b", "b a"]], // prettier-ignore
    ["in a ring that it is not in", [["a", "b"], ["b", "c"], ["c", "b"]], ["a 0 0", "b 1 0", "c 2 0"], ["a b", "b c", "c b"]], // prettier-ignore
    ["of others nothing is drawn", [["x", "y"], ["x", "a"]], ["a 0 0"], []], // prettier-ignore
  ])("%s", (_, calls, nodes, edges) => {
    const graph = withCalls(looseGraph(["a"]), known(calls));
    expect(places(graph).toSorted()).toEqual(nodes.toSorted());
    expect(pairs(graph)).toEqual(edges);
    expect(graph.columns).toBe(1 + Math.max(...graph.nodes.map((node) => node.column)));
    expect(graph.rows).toBe(1 + Math.max(...graph.nodes.map((node) => node.row)));
  });

  it("has what it takes and gives on its edge", () => {
    const net = {
      name: "net",
      inputs: [{ name: "x", datatype: "FP32", shape: [4] }],
      outputs: [{ name: "y", datatype: "INT64", shape: [1] }],
    };
    const graph = withCalls(looseGraph(["a"]), known([["a", "net"], ["a", "gone"]], { models: [net] })); // prettier-ignore
    expect(graph.edges).toEqual([
      { from: "step 0", to: "called net", tensor: "x", type: "FP32 4", via: "call" },
      { from: "step 0", to: "called net", tensor: "y", type: "INT64 1", via: "answer" },
      { from: "step 0", to: "called gone", tensor: "", type: "", via: "call" },
    ]);
  });
});

describe("an ensemble whose steps call others", () => {
  const whole = spec("a", "b");

  it("has them below its own steps, and its outputs right of all", () => {
    const graph = withCalls(pipelineGraph(whole), known([["b", "c"], ["c", "d"]])); // prettier-ignore
    expect(places(graph)).toEqual(["inputs 0 0", "a 1 0", "b 2 0", "outputs 5 0", "c 3 1", "d 4 1"]);
    expect([graph.columns, graph.rows]).toEqual([6, 2]);
  });

  it("goes back to a step that is called, and stays as it is where nobody calls", () => {
    const graph = withCalls(pipelineGraph(whole), known([["b", "a"]]));
    expect(places(graph)).toEqual(["inputs 0 0", "a 1 0", "b 2 0", "outputs 3 0"]);
    expect(pairs(graph)).toEqual(["b a"]);
    expect(withCalls(pipelineGraph(whole), known([]))).toEqual(pipelineGraph(whole));
  });

  it("that is called leads to its steps, also by one of them", () => {
    const specs = new Map([["whole", whole]]);
    expect(pairs(withCalls(looseGraph(["router"]), known([["router", "whole"]], { specs })))).toEqual([
      "router whole",
      "whole a",
      "whole b",
    ]);
    const ring = withCalls(pipelineGraph(whole), known([["b", "whole"]], { specs }));
    expect(pairs(ring)).toEqual(["b whole", "whole a", "whole b"]);
  });

  it("ends in no time where everybody calls everybody", () => {
    const names = Array.from({ length: 60 }, (_, at) => `m${at}`);
    const calls = names.flatMap((from) => names.map((to): [string, string] => [from, to]));
    const graph = withCalls(looseGraph(["m0"]), known(calls));
    expect(graph.nodes).toHaveLength(60);
    expect(pairs(graph)).toHaveLength(3600);
  });
});
