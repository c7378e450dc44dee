import { expect, test } from "vitest";
import type { LoadSweepPoint } from "@/api/types";
import { pathOf, readLevels, scalesOf, ticksTo } from "./curve";

const point = (throughput: number, us: number, good = 10): LoadSweepPoint =>
  ({ throughput, good, p50_us: us, p90_us: us, p95_us: us, p99_us: us }) as LoadSweepPoint;

test.each([
  [0, [0, 1]],
  [Number.NaN, [0, 1]],
  [1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [95, [0, 20, 40, 60, 80, 100]],
  [35_265, [0, 10_000, 20_000, 30_000, 40_000]],
  [0.3, [0, 0.1, 0.2, 0.3]],
])("ticks to %s", (top, ticks) => expect(ticksTo(top)).toEqual(ticks));

const FRAME = { width: 100, height: 50, left: 10, top: 5 };

test("a curve goes from the lower left, past what was not answered", () => {
  const points = [point(10, 100), point(0, 0, 0), point(90, 900)];
  const scales = scalesOf([points], "p95", null, FRAME);
  expect([scales.xTicks.at(-1), scales.yTicks.at(-1)]).toEqual([100, 1000]);
  expect(pathOf(points, "p95", scales)).toBe("M20.0 50.0 L100.0 10.0");
  expect([scales.x(0), scales.y(0)]).toEqual([10, 55]);
});

test("an objective is in view where it is near", () => {
  const points = [point(10, 100)];
  expect(scalesOf([points], "p95", 300, FRAME).yTicks.at(-1)).toBeGreaterThanOrEqual(300);
  expect(scalesOf([points], "p95", 1e6, FRAME).yTicks.at(-1)).toBeLessThan(300);
  expect(scalesOf([[]], "p95", null, FRAME).yTicks).toEqual([0, 1]);
});

test.each([
  ["4", [4]],
  ["4, 1,2", [1, 2, 4]],
  ["1..32", [1, 2, 4, 8, 16, 32]],
  ["1..10", [1, 2, 4, 8, 10]],
  ["0.5..2", [0.5, 1, 2]],
  ["1, 8:24:8", [1, 8, 16, 24]],
])("levels %s", (text, levels) => expect(readLevels(text)).toEqual({ ok: true, levels }));

test.each(["", "many", "0", "-1", "1,", "1:2", "1..", "8:64:0", "1:100:1", "Infinity", "1e999"])("levels %s are refused", (text) =>
  expect(readLevels(text).ok).toBe(false),
);
