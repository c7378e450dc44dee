import { describe, expect, it } from "vitest";
import type { MetricColumns } from "@/api/types";
import { figures, gaining, verdict } from "./verdict";

const STEP = 5;
const CHANGED = 1_000;
type Values = Record<string, (number | null)[]>;

/** Four buckets: two before the change, two after it. */
const columns = (values: Values): MetricColumns => ({
  keys: Object.keys(values),
  v: Object.values(values),
  t: [CHANGED - STEP, CHANGED, CHANGED + STEP, CHANGED + 2 * STEP],
  low: [],
  high: [],
  step_s: STEP,
  resolution: "samples",
});

const BEFORE: Values = {
  "answers_2xx.all": [100, 100, 0, 0],
  "errors_5xx.all": [0, 0, 90, 90],
  "p95_us.all": [8_000, 8_200, 90_000, 90_000],
};
const green = (over: Values = {}): MetricColumns =>
  columns({ ...BEFORE, "answers_2xx.green": [null, null, 10, 10], "p95_us.green": [null, null, 8_000, 8_400], ...over });
const from100 = { blue: 100, green: 0 };
const to10 = { blue: 90, green: 10 };

describe("what is said after traffic was moved", () => {
  it.each([
    ["nothing is known yet", null, "info", "Watching green"],
    ["no request has come", green({ "answers_2xx.green": [null, null, 0, 0] }), "info", "Watching green"],
    ["as fast and without errors", green(), "ok", "green does no worse than before"],
    ["errors", green({ "errors_5xx.green": [null, null, 1, 0] }), "error", "green fails more requests than before"],
    ["the caller's errors count too", green({ "errors_4xx.green": [null, null, 2, 2] }), "error", "green fails more requests than before"],
    [
      "as many errors as before",
      green({ "errors_5xx.all": [5, 5, 0, 0], "errors_5xx.green": [null, null, 0.5, 0.5] }),
      "ok",
      "green does no worse than before",
    ],
    ["slower", green({ "p95_us.green": [null, null, 15_000, 16_000] }), "warn", "green is slower than before"],
    [
      "errors weigh more than time",
      green({ "errors_5xx.green": [null, null, 2, 2], "p95_us.green": [null, null, 90_000, 90_000] }),
      "error",
      "green fails more requests than before",
    ],
    [
      "twice of very little is not slow",
      green({ "p95_us.all": [400, 400, 0, 0], "p95_us.green": [null, null, 900, 900] }),
      "ok",
      "green does no worse than before",
    ],
    ["nothing to compare with", green({ "answers_2xx.all": [1, 1, 0, 0] }), "ok", "green answers"],
    [
      "errors, and nothing to compare with",
      green({ "answers_2xx.all": [null, null, 0, 0], "errors_5xx.green": [null, null, 1, 1] }),
      "error",
      "green answers with errors",
    ],
  ])("%s", (_, found, tone, title) => {
    expect(verdict(found, from100, to10, CHANGED)).toMatchObject({ tone, title });
  });

  it("tells both sides", () => {
    const { detail } = verdict(green({ "p95_us.green": [null, null, 16_000, 16_000] }), from100, to10, CHANGED);
    expect(detail.replaceAll(/\s/g, " ")).toBe("Errors 0 %, p95 16.0 ms; before the change errors 0 %, p95 8.10 ms.");
  });

  it("is about those that got more, and about the worst of them", () => {
    expect(gaining({ a: 100, b: 0, c: 0 }, { a: 50, b: 25, c: 25 })).toEqual(["b", "c"]);
    const both = { "answers_2xx.blue": [100, 100, 20, 20], "p95_us.blue": [8_000, 8_000, 8_000, 8_000] };
    const split = [
      { blue: 0, green: 0 },
      { blue: 50, green: 50 },
    ] as const;
    expect(verdict(green(both), ...split, CHANGED).title).toBe("blue and green do no worse than before");
    expect(verdict(green({ ...both, "errors_5xx.green": [null, null, 5, 5] }), ...split, CHANGED).title).toBe(
      "green fails more requests than before",
    );
    expect(verdict(green(), { blue: 50 }, { blue: 0 }, CHANGED)).toMatchObject({ tone: "warn", title: "Nobody gets requests" });
    expect(verdict(green(), { blue: 50, green: 50 }, { blue: 50, green: 50 }, CHANGED).tone).toBe("info");
  });

  it("counts answers of whole buckets, and the middle p95", () => {
    expect(figures(green(), "green", CHANGED, Number.POSITIVE_INFINITY)).toEqual({ requests: 100, errors: 0, p95: 8_200 });
    expect(figures(green(), "all", CHANGED - 100, CHANGED)).toEqual({ requests: 1_000, errors: 0, p95: 8_100 });
    expect(figures(green(), "red", 0, CHANGED)).toEqual({ requests: 0, errors: null, p95: null });
  });
});
