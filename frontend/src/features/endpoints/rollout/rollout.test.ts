import { expect, test } from "vitest";
import type { Rollout } from "@/api/types";
import { isShown, sure, TOLD_MS } from "./rollout";

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
