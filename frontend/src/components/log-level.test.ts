import { expect, test } from "vitest";
import { levelOf } from "./log-level";

test.each([
  ["E1121 14:00:00 model.cc] no", "error"],
  ["ERROR: it broke", "error"],
  ["2026-11-21 WARNING slow", "warn"],
  ["W1121 late", "warn"],
  ["Errors are counted", null],
  ["I1121 ready", null],
])("%s is %s", (text, level) => expect(levelOf(text)).toBe(level));
