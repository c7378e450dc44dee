import { expect, test } from "vitest";
import { changed, Shown } from "./changes";
import type { Change } from "./frames";

// The same table is in tests/unit/controlplane/console/test_console_changes.py, for who makes them.
test.each<[unknown, unknown, Change]>([
  [1, 1, {}],
  [1, 2, [2]],
  [null, [], [[]]],
  [{ a: 1, b: 2 }, { a: 1, b: 3 }, { b: [3] }],
  [{ a: { b: null } }, { a: { b: { c: 1 } } }, { a: { b: [{ c: 1 }] } }],
  [{ a: 1 }, { a: 1, b: 2 }, [{ a: 1, b: 2 }]],
  [{ a: 1, b: 2 }, { a: 1 }, [{ a: 1 }]],
  [[{ n: "x", v: 1 }, { n: "y" }], [{ n: "x", v: 2 }, { n: "y" }], { "0": { v: [2] } }],
  [[1, 2], [1], [[1]]],
  [[[1, 2], [3]], [[1, 5], [3]], { "0": { "1": [5] } }],
])("%j becomes %j", (before, after, change) => {
  const kept = structuredClone(before);
  expect(changed(before, change)).toEqual(after);
  expect(before, "what was shown before is not touched").toEqual(kept);
});

test("rows that did not change stay the same objects", () => {
  const before = { rows: [{ v: 1 }, { v: 2 }], other: {} };
  const after = changed(before, { rows: { "1": { v: [3] } } }) as typeof before;
  expect(after.rows[0]).toBe(before.rows[0]);
  expect(after.other).toBe(before.other);
  expect(after.rows[1]).toEqual({ v: 3 });
});

const state = (seq: number, data: unknown) => ({ type: "state" as const, topic: "overview", seq, data });
const change = (seq: number, data: Change) => ({ type: "change" as const, topic: "overview", seq, data });

test("changes are taken in the order of their numbers", () => {
  const shown = new Shown();
  expect(shown.accept(state(4, { a: 1 }))).toEqual({ a: 1 });
  expect(shown.accept(change(5, { a: [2] }))).toEqual({ a: 2 });
  expect(shown.accept(change(6, {}))).toEqual({ a: 2 });
});

test("a frame that is missing makes the rest worthless until a whole one comes", () => {
  const shown = new Shown();
  expect(shown.accept(change(1, { a: [2] })), "nothing is there yet").toBeUndefined();
  shown.accept(state(4, { a: 1 }));
  expect(shown.accept(change(6, { a: [3] }))).toBeUndefined();
  expect(shown.accept(change(7, { a: [4] }))).toBeUndefined();
  expect(shown.accept(state(9, { a: 5 }))).toEqual({ a: 5 });
  expect(shown.accept(change(10, { a: [6] }))).toEqual({ a: 6 });
});
