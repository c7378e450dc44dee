import { expect, test } from "vitest";
import type { MetricColumns } from "@/api/types";
import { recent } from "./recent";

const columns = (v: Record<string, (number | null)[]>): MetricColumns => ({
  keys: Object.keys(v),
  v: Object.values(v),
  t: Object.values(v)[0]?.map((_, index) => index * 30) ?? [],
  low: [],
  high: [],
  step_s: 30,
  resolution: "samples",
});

test("rates are averaged, errors are shares of all, the worst p95 is told, the last bucket is not counted", () => {
  const found = recent(
    columns({ "answers_2xx.blue": [8, 10, 99], "errors_4xx.blue": [1, 0, 0], "errors_5xx.blue": [1, 0, 0], "p95_us.blue": [900, 2000, 9] }),
    "blue",
  );
  expect(found).toEqual({ rate: 10, p95: 2000, errors: 0.1, requests: 600 });
});

test("a deployment that is younger than the window is averaged over the window, as all others are", () => {
  const found = columns({
    "answers_2xx.all": [2, 2, 4, 6, 9],
    "answers_2xx.blue": [2, 2, 2, 2, 9],
    "answers_2xx.green": [null, null, 2, 4, 9],
  });
  const rates = ["blue", "green", "all"].map((scope) => recent(found, scope).rate);
  expect(rates).toEqual([2, 1.5, 3.5]);
});

test("what was never sampled has no rate, what was never asked no errors", () => {
  expect(recent(columns({ "answers_2xx.blue": [null, null, null] }), "blue")).toEqual({ rate: null, p95: null, errors: null, requests: 0 });
  expect(recent(columns({ "answers_2xx.blue": [0, 0, 0] }), "blue")).toMatchObject({ rate: 0, errors: null });
  expect(recent(columns({ "answers_2xx.blue": [1] }), "green").rate).toBeNull();
});

test("of a deployment that has just come up the bucket under way is better than nothing", () => {
  expect(recent(columns({ "answers_2xx.blue": [null, null, 2] }), "blue")).toMatchObject({ rate: 2 / 3, requests: 60 });
});
