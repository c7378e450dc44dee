import { expect, test } from "vitest";
import { Ring } from "@/live/ring";
import { isFlat } from "./flat";

function ring(columns: Record<string, (number | null)[]>): Ring {
  const made = new Ring();
  made.load(Object.keys(columns), [1, 2, 3], Object.values(columns));
  return made;
}

test.each<[string, Record<string, (number | null)[]>, string[], number, boolean]>([
  ["zero all the time", { a: [0, 0, 0], b: [0, 0, 0] }, ["a", "b"], 1, true],
  ["zero with gaps", { a: [0, null, 0] }, ["a"], 1, true],
  ["one line is not", { a: [0, 0, 0], b: [0, 0.01, 0] }, ["a", "b"], 1, false],
  ["the line that is not belongs to others", { a: [0, 0, 0], b: [0, 1, 0] }, ["a"], 1, true],
  ["it was before what is shown", { a: [7, 0, 0] }, ["a"], 2, true],
  ["it begins", { a: [0, 0, 7] }, ["a"], 2, false],
  ["below zero is something", { a: [0, -1, 0] }, ["a"], 1, false],
  ["nothing was measured", { a: [null, null, null] }, ["a"], 1, false],
  ["nothing of that name", { a: [0, 0, 0] }, ["b"], 1, false],
  ["no lines", { a: [0, 0, 0] }, [], 1, false],
  ["nothing yet", { a: [0, 0, 0] }, ["a"], 4, false],
])("%s", (_, columns, keys, since, expected) => expect(isFlat(ring(columns), keys, since)).toBe(expected));
