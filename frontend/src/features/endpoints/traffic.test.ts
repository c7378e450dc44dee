import { expect, test } from "vitest";
import { isValid, moveSentence, sameSplit, splitText, total, withShare } from "./traffic";

test("with two deployments the other takes the rest", () => {
  expect(withShare({ blue: 100, green: 0 }, "green", 20)).toEqual({ blue: 80, green: 20 });
  expect(withShare({ blue: 0, green: 0 }, "blue", 35)).toEqual({ blue: 35, green: 65 });
});

test("with more, the others give in proportion and the total stays 100", () => {
  const split = withShare({ a: 50, b: 30, c: 20 }, "a", 10);
  expect(total(split)).toBe(100);
  expect(split["b"]).toBeGreaterThan(split["c"] ?? 0);
  for (let share = 0; share <= 100; share += 1) expect(total(withShare({ a: 33, b: 33, c: 34 }, "b", share))).toBe(100);
});

test("shares stay within 0 and 100", () => {
  expect(withShare({ a: 50, b: 50 }, "a", 140)).toEqual({ a: 100, b: 0 });
  expect(withShare({ a: 50, b: 50 }, "a", -3)).toEqual({ a: 0, b: 100 });
});

test("a split totals 100, or 0 for nobody", () => {
  expect(isValid({ a: 60, b: 40 })).toBe(true);
  expect(isValid({ a: 0, b: 0 })).toBe(true);
  expect(isValid({ a: 60, b: 41 })).toBe(false);
  expect(sameSplit({ a: 100 }, { a: 100, b: 0 })).toBe(true);
  expect(splitText({ blue: 80 }, ["blue", "green"])).toBe("80 / 0");
});

test.each([
  [{ blue: 100, green: 0 }, { blue: 90, green: 10 }, 120, "Of about 120 requests per second, about 12 (10 %) move to green."],
  [{ blue: 90, green: 10 }, { blue: 100, green: 0 }, 12, "Of about 12 requests per second, about 1.2 (10 %) move to blue."],
  [{ a: 100, b: 0, c: 0 }, { a: 40, b: 30, c: 30 }, 1000, "Of about 1,000 requests per second, about 600 (60 %) move to b and c."],
  [{ blue: 100 }, { blue: 0 }, 5, "Nobody gets requests from then on: every caller is answered 404."],
  [{ blue: 100, green: 0 }, { blue: 0, green: 100 }, null, "100 % of the requests will go to green instead; there are none at the moment."],
  [{ blue: 0, green: 0 }, { blue: 100, green: 0 }, 0, "100 % of the requests will go to blue instead; there are none at the moment."],
  [{ blue: 50, green: 50 }, { blue: 50, green: 50 }, 8, "No request changes its target."],
])("from %o to %o at %s req/s", (before, after, rate, sentence) =>
  expect(moveSentence(before as never, after as never, rate)).toBe(sentence),
);
