import { describe, expect, test } from "vitest";
import { Ring } from "./ring";

function filled(): Ring {
  const ring = new Ring(4);
  ring.load(
    ["a", "b"],
    [10, 11, 12],
    [
      [1, null, 3],
      [4, 5, 6],
    ],
  );
  return ring;
}

describe("the ring of live points", () => {
  test("a snapshot is read back, gaps included", () => {
    const ring = filled();
    expect(ring.readTimes(0)).toEqual([10, 11, 12]);
    expect(ring.read("a", 0)).toEqual([1, null, 3]);
    expect(ring.read("b", 1)).toEqual([5, 6]);
    expect(ring.lastTime).toBe(12);
  });

  test("when it is full the oldest point goes", () => {
    const ring = filled();
    ring.push(13, [7, 8]);
    ring.push(14, [9, null]);
    expect(ring.length).toBe(4);
    expect(ring.readTimes(0)).toEqual([11, 12, 13, 14]);
    expect(ring.read("a", 0)).toEqual([null, 3, 7, 9]);
    expect(ring.last("b")).toBeNull();
    expect(ring.last("a")).toBe(9);
  });

  test("many turns around keep the order", () => {
    const ring = new Ring(8);
    ring.load(["x"], [], [[]]);
    for (let t = 1; t <= 1000; t += 1) ring.push(t, [t * 2]);
    expect(ring.readTimes(0)).toEqual([993, 994, 995, 996, 997, 998, 999, 1000]);
    expect(ring.read("x", 6)).toEqual([1998, 2000]);
  });

  test("a snapshot larger than the ring keeps its newest points", () => {
    const ring = new Ring(2);
    ring.load(["x"], [1, 2, 3], [[1, 2, 3]]);
    expect(ring.readTimes(0)).toEqual([2, 3]);
    expect(ring.read("x", 0)).toEqual([2, 3]);
  });

  test("a point that is not newer is ignored", () => {
    const ring = filled();
    expect(ring.push(12, [0, 0])).toBe(false);
    expect(ring.push(11, [0, 0])).toBe(false);
    expect(ring.length).toBe(3);
  });

  test("too few values and unknown series are gaps", () => {
    const ring = filled();
    ring.push(13, [7]);
    expect(ring.last("b")).toBeNull();
    expect(ring.read("nothing", 2)).toEqual([null, null]);
  });

  test("the first point within a range is found by time", () => {
    const ring = filled();
    expect(ring.firstIndex(0)).toBe(0);
    expect(ring.firstIndex(10.5)).toBe(1);
    expect(ring.firstIndex(12)).toBe(2);
    expect(ring.firstIndex(99)).toBe(3);
    expect(new Ring().firstIndex(1)).toBe(0);
  });

  test("reading into the same array allocates no new one", () => {
    const ring = filled();
    const out: (number | null)[] = [9, 9, 9, 9, 9];
    expect(ring.read("b", 0, out)).toBe(out);
    expect(out).toEqual([4, 5, 6]);
  });
});
