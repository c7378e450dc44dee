import { expect, test } from "vitest";
import { BY_STEPS, strategyBody, switchSteps } from "./strategy-fields";

test("what is the default is not said", () => {
  expect(strategyBody(BY_STEPS, 300)).toEqual({});
  expect(strategyBody({ blueGreen: false, copies: "" }, 300)).toEqual({});
});

test("copies and a switch are said, each for as long as steps hold", () => {
  expect(strategyBody({ blueGreen: true, copies: 20 }, 120)).toEqual({ strategy: "blue_green", shadow: { percent: 20, hold_s: 120 } });
  expect(switchSteps(120)).toEqual([
    { percent: 0, hold_s: 60 },
    { percent: 100, hold_s: 120 },
  ]);
});
