import { expect, test } from "vitest";
import { givesUp } from "./deadline";

const at = (seconds: number) => new Date(seconds * 1000).toISOString();
const SOON = at(0);
const DEADLINE = at(900);

test.each([
  ["one that has just begun says nothing", 4, null],
  ["nor does one that takes as long as most", 29, null],
  ["one that takes longer", 31, "gives up in 14:29 min"],
  ["in its last minute", 861, "gives up in 39 s"],
  ["one that is over", 905, "gives up in 0 s"],
])("%s", (_, now, words) => {
  expect(givesUp(SOON, DEADLINE, now * 1000)).toBe(words);
});

test("of a time that is shorter than that, the second half is told", () => {
  expect([9, 11].map((now) => givesUp(SOON, at(20), now * 1000))).toEqual([null, "gives up in 9 s"]);
});
