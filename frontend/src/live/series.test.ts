import { beforeEach, expect, test, vi } from "vitest";
import { Series } from "./series";

let run: (() => void)[];

beforeEach(() => {
  run = [];
  vi.stubGlobal("requestAnimationFrame", (callback: () => void) => run.push(callback));
});

const frame = () => {
  const batch = run.splice(0);
  for (const callback of batch) callback();
};

test("many frames before a redraw draw once", () => {
  const series = new Series();
  const draw = vi.fn();
  series.onDraw(draw);
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1], v: [[1]] });
  series.accept({ type: "tick", topic: "t", t: 1.5, v: [2] });
  series.accept({ type: "tick", topic: "t", t: 2, v: [3] });
  frame();
  expect(draw).toHaveBeenCalledTimes(1);
  expect(series.ring.read("a", 0)).toEqual([1, 2, 3]);
});

test("a tick before the first snapshot is dropped: its columns are not known", () => {
  const series = new Series();
  series.accept({ type: "tick", topic: "t", t: 1, v: [1] });
  expect(series.ring.length).toBe(0);
});

test("a tick with other columns than the snapshot's is dropped", () => {
  const series = new Series();
  series.accept({ type: "snapshot", topic: "t", keys: ["a", "b"], t: [1], v: [[1], [2]] });
  series.accept({ type: "tick", topic: "t", t: 1.5, v: [7] });
  expect(series.ring.last("a")).toBe(1);
});

test("only a change of the keys is a change of structure", () => {
  const series = new Series();
  const changed = vi.fn();
  series.onStructure(changed);
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1], v: [[1]] });
  series.accept({ type: "tick", topic: "t", t: 2, v: [1] });
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1, 3], v: [[1, 2]] });
  expect(changed).toHaveBeenCalledTimes(1);
  series.accept({ type: "snapshot", topic: "t", keys: ["a", "b"], t: [1], v: [[1], [2]] });
  expect(changed).toHaveBeenCalledTimes(2);
});

test("a silence becomes a gap", () => {
  const series = new Series();
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1], v: [[1]] });
  series.accept({ type: "tick", topic: "t", t: 11, v: [2] });
  expect(series.ring.readTimes(0)).toEqual([1, 1.5, 10.5, 11]);
  expect(series.ring.read("a", 0)).toEqual([1, null, null, 2]);
  expect([1, 1.5, 5, 10.5, 11].map((time) => series.isSilent(time))).toEqual([false, true, true, true, false]);
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1, 11], v: [[1, 2]] });
  expect(series.isSilent(5)).toBe(false);
});

test("a point is looked up by its moment", () => {
  const series = new Series();
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1, 2], v: [[7, null]] });
  expect([1, 1.5, 2, 3].map((time) => series.ring.valueAt("a", time))).toEqual([7, undefined, null, undefined]);
  expect(series.ring.valueAt("b", 1)).toBeUndefined();
});

test("whoever has left is not drawn", () => {
  const series = new Series();
  const draw = vi.fn();
  const leave = series.onDraw(draw);
  leave();
  series.accept({ type: "snapshot", topic: "t", keys: ["a"], t: [1], v: [[1]] });
  frame();
  expect(draw).not.toHaveBeenCalled();
});

test("columns that were asked for add what is newer, or replace what is different", () => {
  const series = new Series();
  series.merge({ keys: ["a"], t: [1, 1.5], v: [[1, 2]] });
  series.merge({ keys: ["a"], t: [1.5, 2, 2.5], v: [[9, 3, 4]] });
  expect(series.ring.read("a", 0)).toEqual([1, 2, 3, 4]);
  const before = series.version;
  series.merge({ keys: ["a", "b"], t: [5], v: [[1], [2]] });
  expect(series.ring.read("b", 0)).toEqual([2]);
  expect(series.version).toBe(before + 1);
});
