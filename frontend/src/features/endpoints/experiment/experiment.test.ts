import { expect, test } from "vitest";
import type { ExperimentArm } from "@/api/types";
import { intervalText, secondsOf, splitText, verdictOf } from "./experiment";

const blue: ExperimentArm = {
  deployment: "blue",
  model: "net",
  version: 1,
  revision: 1,
  asked_percent: 80,
  measured_percent: 80.4,
  rules: [],
  requests: 7390,
  failed: 11,
  refused: 0,
  failed_share: 0.0015,
  failed_low: 0.0008,
  failed_high: 0.0027,
  p50_us: 7600,
  p95_us: 11_800,
  p99_us: 18_900,
  missing: 0,
  verdict: "no_difference",
  text: "The others are compared with blue.",
  differences: [],
  golden: null,
  answers: null,
};
const green: ExperimentArm = { ...blue, deployment: "green", asked_percent: 20 };

test("a verdict has a word, and too little data its number", () => {
  expect(verdictOf(blue, "blue")).toEqual({ text: "Baseline", tone: "info" });
  expect(verdictOf({ ...green, verdict: "no_difference" }, "blue").text).toBe("No difference");
  expect(verdictOf({ ...green, verdict: "worse" }, "blue")).toEqual({ text: "Worse", tone: "error" });
  expect(verdictOf({ ...green, verdict: "better" }, "blue")).toEqual({ text: "Better", tone: "ok" });
  const few = { ...green, verdict: "too_little_data", missing: 110 } as const;
  expect(verdictOf(few, "blue").text).toBe("110 requests missing");
  expect(verdictOf({ ...few, missing: 0 }, "blue").text).toBe("Too little data");
});

test("what is not known is a dash, and rules are counted", () => {
  expect(intervalText({ ...green, failed_share: null })).toBe("–");
  expect(intervalText({ ...green, failed_share: 0.1, failed_low: 0.08, failed_high: 0.13 })).toMatch(/^8.*to 13/);
  expect(splitText({ ...green, asked_percent: 0, rules: ["x -> green"], measured_percent: null })).toBe("0 %, 1 rule, measured –");
  expect(secondsOf("6h")).toBe(21_600);
});
