import { expect, test } from "vitest";
import type { LogLine } from "@/api/types";
import { appendLines, expressionOf, prependLines } from "./log-buffer";

const line = (id: number, over: Partial<LogLine> = {}): LogLine => ({
  id,
  at: "2026-11-21T14:00:00Z",
  replica_id: "r0",
  stream: "stdout",
  text: `line ${id}`,
  level: "",
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

test("an expression between slashes is tried here, and says when it is none", () => {
  const found = expressionOf("/batch of \\d+/");
  expect(found?.test(line(1, { text: "a BATCH of 8" }))).toBe(true);
  expect(found?.test(line(1, { text: "a batch of many" }))).toBe(false);
  expect(expressionOf("/(/")?.error).toMatch(/expression/i);
});

test("anything else is the server's to look for", () => {
  for (const text of ["", "batch", "/var/log", "//"]) expect(expressionOf(text)).toBeNull();
});

test("older lines come before, as far as there is room", () => {
  const held = [line(5), line(6)];
  expect(prependLines(held, [line(3), line(4), line(5)]).map((item) => item.id)).toEqual([3, 4, 5, 6]);
  expect(prependLines(held, [line(1), line(2), line(3)], 4).map((item) => item.id)).toEqual([2, 3, 5, 6]);
  expect(prependLines(held, [line(1)], 2)).toBe(held);
  expect(prependLines(held, [line(7)])).toBe(held);
});
