import { expect, test } from "vitest";
import type { Rollout } from "@/api/types";
import { isShown, readSteps, sure, TOLD_MS } from "./rollout";

test.each([
  [0, "0.0 %"],
  [0.9299, "92.9 %"],
  [0.99999, "99.9 %"],
  [null, "–"],
])("a confidence of %s is %s", (confidence, text) => expect(sure(confidence)).toBe(text));

test("one that ended is told of for a day, one under way always", () => {
  const ended = { state: "Withdrawn", finished_at: "2026-01-05T10:00:00Z" } as Rollout;
  const at = Date.parse(ended.finished_at ?? "");
  expect(isShown(ended, at + TOLD_MS - 1)).toBe(true);
  expect(isShown(ended, at + TOLD_MS)).toBe(false);
  expect(isShown({ ...ended, state: "Paused", finished_at: null }, at + 9 * TOLD_MS)).toBe(true);
});

test.each([
  ["1, 10, 100", "1:60 10:60 100:0"],
  ["5 % 100 %", "5:60 100:0"],
  ["100", "100:0"],
  ["", "whole numbers from 1 to 100, with commas between"],
  ["1, ten, 100", "whole numbers from 1 to 100, with commas between"],
  ["0, 100", "whole numbers from 1 to 100, with commas between"],
  ["10, 10, 100", "each more than the one before"],
  ["1, 50", "the last must be 100"],
])("steps %j are read as %s", (text, expected) => {
  const read = readSteps(text, 60);
  expect(read.ok ? read.steps.map((step) => `${step.percent}:${step.hold_s}`).join(" ") : read.error).toBe(expected);
});
