import { describe, expect, test } from "vitest";
import { evenly, meanOverTime, widthsOf } from "./widths";

const N = null;

describe("points are brought to one width", () => {
  test.each<[string, number[], (number | null)[], [number, number, number, number], (number | null)[]]>([
    ["points of that width stay", [2, 4, 6], [1, 2, 3], [0, 6, 2, 2], [1, 2, 3]],
    ["half seconds become their mean", [2, 2.5, 3, 3.5, 4], [5, 0, 0, 4, 4], [0, 4, 2, 2.5], [5, 2]],
    ["a wide point fills all that it stands for", [2, 4], [1, 3], [0, 4, 0.5, 2.5], [1, 1, 1, 1, 3, 3, 3, 3]],
    ["points across a border count in both, by their parts", [1.5, 3], [2, 8], [0, 4, 2, 2], [(2 * 1.5 + 8 * 0.5) / 2, 8]],
    ["a gap stays one", [2, 4, 6], [1, N, 3], [0, 6, 2, 2], [1, N, 3]],
    ["a silence is not bridged by the point after it", [2, 12], [1, 7], [0, 12, 2, 2.5], [1, N, N, N, 7, 7]],
    ["before the first point there is nothing", [8], [4], [0, 8, 2, 2], [N, N, N, 4]],
    ["what lies outside is left out", [1, 3, 9, 11], [9, 1, 2, 9], [2, 8, 2, 2], [1, N, 2]],
    ["the newest bucket may be begun", [2, 3], [1, 5], [0, 3, 2, 2], [1, 5]],
    ["nothing is nothing", [], [], [0, 4, 2, 2], [N, N]],
  ])("%s", (_, times, values, [from, to, step, widest], expected) =>
    expect(evenly(times, values, { from, to, step, widest })).toEqual(expected),
  );
});

test.each<[string, number[], number | undefined, number[]]>([
  ["the time since the one before", [2, 4, 6, 6.5, 7], undefined, [2, 2, 2, 0.5, 0.5]],
  ["no more than the widest", [2, 4, 60, 62], 12, [12, 2, 12, 2]],
  ["a second where it is alone", [7], undefined, [1]],
  ["nothing of nothing", [], undefined, []],
])("a point stands for %s", (_, times, widest, expected) => expect(widthsOf(times, widest)).toEqual(expected));

describe("a mean over time", () => {
  test.each<[string, number[], (number | null)[], number | null]>([
    ["of points of one width is their mean", [1, 2, 3], [1, 2, 6], 3],
    ["counts four half seconds like one of two", [2, 4, 6, 6.5, 7, 7.5, 8], [4, 4, 4, 0, 0, 0, 0], 24 / 8],
    ["does not count a silence for the point after it", [1, 2, 2.5, 11.5, 12, 13], [1, 1, N, N, 3, 3], 6.5 / 3.5],
    ["leaves gaps out", [1, 2, 3], [1, N, 3], 2],
    ["of one point is that", [7], [5], 5],
    ["of nothing is nothing", [1, 2], [N, N], null],
  ])("%s", (_, times, values, expected) => {
    const mean = meanOverTime(times, values);
    if (expected === null) expect(mean).toBeNull();
    else expect(mean).toBeCloseTo(expected, 9);
  });
});
