import { expect, test } from "vitest";
import { PLAN, planBody, planOptions, planText, readSteps } from "./plan";

test.each([
  ["1, 10, 100", "1:60 10:60 100:0"],
  ["5 % 100 %", "5:60 100:0"],
  ["100", "100:0"],
  ["", "whole numbers from 1 to 100, with commas between"],
  ["1, ten, 100", "whole numbers from 1 to 100, with commas between"],
  ["0, 100", "whole numbers from 1 to 100, with commas between"],
  ["10, 10, 100", "each more than the one before"],
  ["1, 50", "the last must be 100"],
])("steps %j are read as %s", (text, expected) => {
  const read = readSteps(text, 60);
  expect(read.ok ? read.steps.map((step) => `${step.percent}:${step.hold_s}`).join(" ") : read.error).toBe(expected);
});

test("what is the default is not said", () => {
  const steps = [
    { percent: 1, hold_s: 300 },
    { percent: 10, hold_s: 300 },
    { percent: 50, hold_s: 300 },
    { percent: 100, hold_s: 0 },
  ];
  expect(planBody(PLAN, 0)).toEqual({ steps, min_requests: 200 });
  expect(planBody({ ...PLAN, copies: "", inputs: "" }, 10)).toEqual({ steps: steps.slice(2), min_requests: 200 });
});

test("copies and a switch are said, each for as long as steps hold", () => {
  const body = planBody({ ...PLAN, blueGreen: true, copies: 20, minutes: 2 }, 0);
  expect(body).toMatchObject({
    strategy: "blue_green",
    shadow: { percent: 20, hold_s: 120 },
    steps: [
      { percent: 0, hold_s: 60 },
      { percent: 100, hold_s: 120 },
    ],
  });
  expect(body && planText(body)).toBe("copies of 20 % → 100 %");
});

test("what is missing or wrong is no plan", () => {
  for (const part of [{ steps: "5, 50" }, { minutes: "" }, { requests: "" }, { requests: 0 }, { inputs: 5, sources: [] }]) {
    expect(planBody({ ...PLAN, ...part }, 0)).toBeNull();
  }
});

test("the command line says the same", () => {
  const body = planBody({ ...PLAN, steps: "5, 100", golden: false, copies: 10, inputs: 30, sources: ["random"] }, 0);
  expect(body && planOptions(body).join(" ")).toBe(
    "--steps 5:300,100:0 --min-requests 200 --shadow 10:300 --without golden --compare 30 --compare-by values --compare-from random",
  );
});
