import { describe, expect, it } from "vitest";
import { type Level, levelOf, worse } from "./level";

const HIGH: Level = { at: 0.3, word: "High", tone: "warn" };
const SEVERE: Level = { at: 0.6, word: "Severe", tone: "error" };
const LEVELS = [HIGH, SEVERE];
const every = (step: number, count: number) => Array.from({ length: count }, (_, index) => 1_000 + index * step);
const all = (count: number, value: number | null) => Array.from({ length: count }, () => value);

describe("levels", () => {
  it.each([
    ["nothing at all", [], [], null],
    ["gaps alone", every(0.5, 200), all(200, null), null],
    ["a minute above the first", every(0.5, 200), all(200, 0.31), HIGH],
    ["exactly at it", every(0.5, 200), all(200, 0.3), null],
    ["a minute above both", every(0.5, 200), all(200, 0.61), SEVERE],
    ["half a minute", every(0.5, 60), all(60, 0.9), null],
    ["below for a moment", every(0.5, 200), [...all(150, 0.9), 0.1, ...all(49, 0.9)], null],
    ["below before the minute", every(0.5, 200), [...all(70, 0.1), ...all(130, 0.9)], SEVERE],
    ["the lowest of the minute counts", every(0.5, 200), [...all(150, 0.9), 0.4, ...all(49, 0.9)], HIGH],
    ["a gap within", every(0.5, 200), [...all(150, 0.9), null, ...all(49, 0.9)], SEVERE],
    ["a gap at its beginning", every(0.5, 200), [...all(60, 0.9), ...all(100, null), ...all(40, 0.9)], null],
    ["buckets of ten seconds", every(10, 12), all(12, 0.5), HIGH],
    ["buckets of an hour", every(3_600, 3), [0.9, 0.1, 0.5], HIGH],
    ["one bucket", [1_000], [0.9], SEVERE],
  ])("%s", (_, times, values, expected) => {
    expect(levelOf(times, values, LEVELS)).toBe(expected);
  });

  it("the worse of two is told", () => {
    expect(worse(null, null)).toBeNull();
    expect(worse(HIGH, null)).toBe(HIGH);
    expect(worse(HIGH, SEVERE)).toBe(SEVERE);
    expect(worse(SEVERE, HIGH)).toBe(SEVERE);
  });
});
