import { describe, expect, test } from "vitest";
import type { LogLine } from "@/api/types";
import { appendLines, lineMatcher, prependLines } from "./log-buffer";

const line = (id: number, over: Partial<LogLine> = {}): LogLine => ({
  id,
  at: "2026-11-21T14:00:00Z",
  replica_id: "r0",
  stream: "stdout",
  text: `line ${id}`,
  ...over,
});

test("only newer lines are added, in order", () => {
  const held = appendLines([], [line(2), line(1)]);
  expect(held.map((item) => item.id)).toEqual([1, 2]);
  expect(appendLines(held, [line(2), line(3)]).map((item) => item.id)).toEqual([1, 2, 3]);
  expect(appendLines(held, [line(1)])).toBe(held);
});

test("the oldest lines go when it is full", () => {
  const held = appendLines(
    [],
    Array.from({ length: 10 }, (_, index) => line(index + 1)),
    4,
  );
  expect(held.map((item) => item.id)).toEqual([7, 8, 9, 10]);
});

describe("the filter", () => {
  const nothing = { text: "", stream: undefined, replica: undefined };

  test("looks for words without regard to case", () => {
    expect(lineMatcher({ ...nothing, text: "BATCH" }).test(line(1, { text: "a batch of 8" }))).toBe(true);
    expect(lineMatcher({ ...nothing, text: "a.b" }).test(line(1, { text: "axb" }))).toBe(false);
  });

  test("takes an expression between slashes, and says when it is none", () => {
    expect(lineMatcher({ ...nothing, text: "/batch of \\d+/" }).test(line(1, { text: "a batch of 8" }))).toBe(true);
    expect(lineMatcher({ ...nothing, text: "/(/" }).error).toMatch(/expression/i);
  });

  test("narrows to a stream and a replica", () => {
    const { test: hit } = lineMatcher({ text: "", stream: "stderr", replica: "r1" });
    expect(hit(line(1, { stream: "stderr", replica_id: "r1" }))).toBe(true);
    expect(hit(line(1, { stream: "stderr" }))).toBe(false);
    expect(hit(line(1, { replica_id: "r1" }))).toBe(false);
  });
});

test("older lines come before, as far as there is room", () => {
  const held = [line(5), line(6)];
  expect(prependLines(held, [line(3), line(4), line(5)]).map((item) => item.id)).toEqual([3, 4, 5, 6]);
  expect(prependLines(held, [line(1), line(2), line(3)], 4).map((item) => item.id)).toEqual([2, 3, 5, 6]);
  expect(prependLines(held, [line(1)], 2)).toBe(held);
  expect(prependLines(held, [line(7)])).toBe(held);
});

test("warnings include errors", () => {
  const warn = lineMatcher({ text: "", level: "warn", stream: undefined, replica: undefined });
  expect(["ERROR a", "WARNING b", "c"].map((text) => warn.test(line(1, { text })))).toEqual([true, true, false]);
});
