import { expect, test } from "vitest";
import type { Prices } from "@/api/types";
import { type PriceRow, pricesOf, rowProblem, rowsOf } from "./price-form";

const PRICES: Prices = {
  currency: "EUR",
  instance_types: { "gpu-t4": 0.95 },
  nodes: { "rack-7": 1.2 },
  labels: [{ key: "zone", value: "a=b", per_hour: 0 }],
};
const row = (change: Partial<PriceRow> = {}): PriceRow => ({ kind: "node", name: "rack-7", perHour: 1, ...change });

test("what is read can be saved again", () => {
  expect(pricesOf(" EUR ", rowsOf(PRICES))).toEqual(PRICES);
});

test("a row says what is missing", () => {
  const good = row();
  expect(rowProblem(good, [good])).toBeUndefined();
  expect(rowProblem(row({ name: " " }), [])).toBe("Expected a name");
  expect(rowProblem(row({ kind: "label", name: "zone" }), [])).toBe("Expected key=value");
  expect(rowProblem(row({ kind: "label", name: "=a" }), [])).toBe("Expected key=value");
  expect(rowProblem(row({ kind: "label", name: "zone=" }), [])).toBeUndefined();
  expect(rowProblem(row({ perHour: "" }), [])).toBe("Expected a price per hour");
  expect(rowProblem(row({ perHour: -1 }), [])).toBe("Expected a price per hour");
  expect(rowProblem(row(), [row()])).toBe("It has a price already");
  expect(rowProblem(row(), [row({ kind: "label" })])).toBeUndefined();
});
