import { describe, expect, it } from "vitest";
import type { StepFigures } from "@/api/types";
import { looseGraph } from "@/components/pipeline/graph";
import { busiest, firstEnsemble, marksOf, stepText, stepTexts, summary } from "./steps";

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
const of = (...models: StepFigures[]) => ({ deployment: "blue", seconds: 10, models });

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

it("begins with the ensemble that no other calls, and the deployment that gets most", () => {
  expect(firstEnsemble([], undefined)).toBeUndefined();
  expect(firstEnsemble(["inner", "outer"], undefined)).toBe("inner");
  expect(firstEnsemble(["inner", "outer"], of(figures("inner"), figures("outer", { step: false })))).toBe("outer");
  expect(busiest(["blue", "green"], { blue: 10, green: 90 })).toBe("green");
  expect(busiest(["blue", "green"], {})).toBe("blue");
  expect(busiest([], {})).toBe("");
});
