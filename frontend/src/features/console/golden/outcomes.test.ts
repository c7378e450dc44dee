import { expect, test } from "vitest";
import type { Endpoint, TestOutcome } from "@/api/types";
import { summary, targetsOf } from "./outcomes";

const outcomes = (...kinds: TestOutcome["status"][]) => kinds.map((status) => ({ status }) as TestOutcome);

test("outcomes are counted, and what did not happen is not said", () => {
  expect(summary(outcomes("passed", "differs", "refused", "passed"))).toBe("2 as expected, 2 wrong");
  expect(summary(outcomes("unanswered"))).toBe("1 not answered");
  expect(summary([])).toBe("");
});

test("those that can answer, the one with the most traffic first", () => {
  const one = (name: string, state: string) => ({ name, replicas: [{ state }] });
  const endpoint = { deployments: [one("blue", "ready"), one("red", "failed"), one("green", "Ready")], traffic: { green: 90, blue: 10 } };
  expect(targetsOf(endpoint as unknown as Endpoint)).toEqual(["green", "blue"]);
});
