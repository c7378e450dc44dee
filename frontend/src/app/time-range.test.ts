import { describe, expect, test } from "vitest";
import { parseRange, rangeText, stepText } from "./time-range";

describe("a range in the URL", () => {
  test.each([
    ["5m", { kind: "following", preset: "5m", seconds: 300 }],
    ["30d", { kind: "following", preset: "30d", seconds: 2_592_000 }],
    ["1763690000..1763690600", { kind: "fixed", from: 1763690000, to: 1763690600, seconds: 600 }],
  ])("%s is understood", (text, expected) => expect(parseRange(text)).toEqual(expected));

  test.each([undefined, "", "5 m", "2h", "1763690600..1763690000", "1763690000..1763690001", "1..2", "1763690000..1863690000"])(
    "%s is not",
    (text) => expect(parseRange(text)).toBeNull(),
  );
});

test("a selection becomes whole seconds, never fewer than ten", () => {
  expect(rangeText(1763690000.4, 1763690600.2)).toBe("1763690000..1763690601");
  expect(parseRange(rangeText(1763690000.4, 1763690000.9))).not.toBeNull();
  expect(parseRange(rangeText(1763690000, 1763690000 + 3_000_000))).not.toBeNull();
});

test("a bucket says how wide it is", () => {
  expect([2, 60, 300, 7200].map(stepText)).toEqual(["2 s", "1 min", "5 min", "2 h"]);
});
