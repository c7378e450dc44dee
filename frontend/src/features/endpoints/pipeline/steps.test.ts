import { describe, expect, it } from "vitest";
import type { ModelCalls, StepFigures } from "@/api/types";
import { withCalls } from "@/components/pipeline/calls";
import { looseGraph, pipelineGraph } from "@/components/pipeline/graph";
import { busiest, callTexts, firstHead, heads, marksOf, stepText, stepTexts, summary } from "./steps";

const figures = (name: string, part: Partial<StepFigures> = {}): StepFigures => ({
  name,
  step: true,
  executes: true,
  request_rate: 412,
  request_us: 5000,
  queue_us: 620,
  compute_us: 4400,
  mean_batch: 7.8,
  busy: 0.4,
  pending: 3,
  failure_rate: 0,
  share: 0.62,
  slow: "",
  faulty: "",
  ...part,
});
const of = (...models: StepFigures[]) => ({ deployment: "blue", seconds: 10, models, calls: [] as ModelCalls[] });

describe("marks", () => {
  it.each([
    [{}, []],
    [{ slow: "queue" as const }, ["Slow: it waits"]],
    [{ slow: "compute" as const }, ["Slow: it computes"]],
    [{ faulty: "failing" as const }, ["Failing"]],
    [{ slow: "compute" as const, faulty: "rising" as const }, ["Failing, more and more", "Slow: it computes"]],
  ])("are words: %j", (part, words) => {
    expect(marksOf(figures("net", part)).map((mark) => mark.text)).toEqual(words);
  });

  it("are said as one sentence", () => {
    expect(summary(of())).toBeNull();
    expect(summary(of(figures("net", { request_rate: 0 })))).toBe("No requests in the last 10 s.");
    expect(summary(of(figures("net")))).toBe("No step stands out.");
    expect(summary(of(figures("a", { faulty: "rising" }), figures("b", { slow: "queue" })))).toBe(
      "a fails, more and more. b takes most of the time: its requests wait.",
    );
    // What only fails has no request that was answered.
    expect(summary(of(figures("a", { request_rate: 0, failure_rate: 2, faulty: "failing" })))).toBe("a fails.");
  });
});

describe("figures on a step", () => {
  it("are of its model", () => {
    expect(stepText(figures("net")).lines.map((line) => line.replaceAll(/\s/g, " "))).toEqual([
      "412 req/s, batch 7.8",
      "queue 620 µs, compute 4.40 ms",
      "3 waiting, 62 % of the time",
    ]);
    const nothing = figures("net", { request_rate: null, mean_batch: null, queue_us: null, compute_us: null, pending: 0, share: null });
    expect(stepText(nothing).lines).toEqual(["–, batch –", "queue –, compute –", "none waits"]);
    expect(stepText(undefined).lines[0]).toBe("not loaded");
  });

  it("stand on every step that the model is", () => {
    const texts = stepTexts(looseGraph(["net", "net", "other"]), of(figures("net")));
    expect([...texts.keys()]).toEqual(["step 0", "step 1", "step 2"]);
    expect(texts.get("step 1")).toEqual(texts.get("step 0"));
    expect(texts.get("step 2")?.lines[0]).toBe("not loaded");
  });
});

const called = (caller: string, callee: string, part: Partial<ModelCalls> = {}): ModelCalls => ({
  caller,
  callee,
  calls: 900,
  call_rate: 30,
  per_request: 2,
  mean_us: 1300,
  failure_rate: 0,
  last_at: "2026-07-30T10:00:00Z",
  ...part,
});
const calling = (...calls: ModelCalls[]) => ({ ...of(), calls });

describe("figures on a call", () => {
  it("are how many for each request, how long, and whether they fail", () => {
    const pipeline = calling(
      called("router", "net"),
      called("router", "gone", { per_request: null, mean_us: null, call_rate: 0 }),
      called("net", "net", { failure_rate: 0.2 }),
      called("elsewhere", "net"),
    );
    const graph = withCalls(looseGraph(["router"]), { calls: pipeline.calls, specs: new Map(), models: [] });
    const said = [...callTexts(graph, pipeline)].map(([key, text]) => [
      key,
      text.lines.map((line) => line.replaceAll(/\s/g, " ")).join(", "),
      text.marks.map((mark) => mark.text).join(),
    ]);
    expect(said.slice(0, 3)).toEqual([
      ["step 0>called net", "2.00 a request, 1.30 ms", ""],
      ["step 0>called gone", "0 req/s", ""],
      ["called net>called net", "2.00 a request, 1.30 ms", "Failing"],
    ]);
  });
});

it("stands on calls of a model that is called as the ends of a pipeline are", () => {
  const x = { name: "x", datatype: "FP32", shape: [1] };
  const spec = { inputs: [x], outputs: [], steps: [{ model: "router", inputs: [["x", "x"]] as const, outputs: [] }] };
  const pipeline = calling(called("router", "inputs"));
  const graph = withCalls(pipelineGraph(spec), { calls: pipeline.calls, specs: new Map(), models: [] });
  expect([...callTexts(graph, pipeline).keys()]).toEqual(["step 0>called inputs"]);
});

it("begins with what no other calls, and the deployment that gets most", () => {
  expect(heads([], undefined)).toEqual([]);
  expect(heads(["whole"], calling(called("router", "whole"), called("router", "net"), called("net", "net")))).toEqual([
    "whole",
    "router",
    "net",
  ]);
  expect(firstHead([], undefined)).toBeUndefined();
  expect(firstHead(["inner", "outer"], undefined)).toBe("inner");
  expect(firstHead(["inner", "outer"], of(figures("inner"), figures("outer", { step: false })))).toBe("outer");
  expect(firstHead(["whole", "router"], calling(called("router", "whole")))).toBe("router");
  expect(firstHead(["net"], calling(called("net", "net")))).toBe("net");
  expect(firstHead(["a", "b"], calling(called("a", "b"), called("b", "a")))).toBe("a");
  expect(busiest(["blue", "green"], { blue: 10, green: 90 })).toBe("green");
  expect(busiest(["blue", "green"], {})).toBe("blue");
  expect(busiest([], {})).toBe("");
});
