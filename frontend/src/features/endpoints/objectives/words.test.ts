import { expect, test } from "vitest";
import type { Objective } from "@/api/types";
import { burnText, goodText, leftText, promise } from "./words";

const pair = { speed: "fast" as const, factor: 14.4, long_requests: 100 };
const objective = {
  target_percent: 99.9,
  threshold_ms: null,
  window_days: 28,
  burn_rates: [
    { ...pair, long_s: 3600, short_s: 300, long_rate: 2, short_rate: null, burning: false },
    { ...pair, long_s: 259_200, short_s: 21_600, long_rate: 1.5, short_rate: 1.25, burning: true },
  ],
} as unknown as Objective;

test("what is promised", () => {
  expect(promise(objective)).toBe("99.9 % without a 5xx, 28 days");
  expect(promise({ ...objective, threshold_ms: 250 })).toBe("99.9 % within 250 ms, 28 days");
});

test("the pair that burns is told, or else the first", () => {
  expect(burnText(objective)).toBe("1.50 over 3 days, 1.25 over 6 h");
  expect(burnText({ ...objective, burn_rates: objective.burn_rates.slice(0, 1) })).toBe("2.00 over 1 h, – over 5 min");
  expect(burnText({ ...objective, burn_rates: [] })).toBe("–");
});

test("shares are rounded down, and a budget may be more than used up", () => {
  expect(goodText(99.8999)).toBe("99.899 %");
  expect(goodText(null)).toBe("–");
  expect(leftText(-0.5)).toBe("-50.0 %");
});
