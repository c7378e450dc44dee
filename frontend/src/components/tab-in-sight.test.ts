import { expect, test } from "vitest";
import { middleOf } from "./tab-in-sight";

const row = { offsetLeft: 12, clientWidth: 336 };

test("the tab one is on stands in the middle of a row that is longer than the screen", () => {
  expect(middleOf(row, { offsetLeft: 612, offsetWidth: 80 })).toBe(472);
});

test("the first tabs stay where they are", () => {
  expect(middleOf(row, { offsetLeft: 12, offsetWidth: 80 })).toBe(0);
});
