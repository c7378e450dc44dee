import { expect, test } from "vitest";
import { gapText } from "./gap-text";

test.each<[string, [string, string | null][], string]>([
  [
    "no gap",
    [
      ["a", null],
      ["b", null],
    ],
    "",
  ],
  [
    "all for one reason",
    [
      ["a", "nobody asked"],
      ["b", "nobody asked"],
    ],
    "nobody asked",
  ],
  [
    "one line alone",
    [
      ["a", null],
      ["b", "nobody asked"],
    ],
    "b: nobody asked",
  ],
  [
    "two reasons",
    [
      ["a", "too early"],
      ["b", "nobody asked"],
      ["c", "nobody asked"],
    ],
    "a: too early; b, c: nobody asked",
  ],
  ["a reason that nobody knows", [["a", ""]], ""],
])("%s", (_, lines, expected) => expect(gapText(lines.map(([label, reason]) => ({ label, reason })))).toBe(expected));
