import { describe, expect, test } from "vitest";
import { NOT_READING, press, type Pressed, type Reading } from "./chart-keys";

const TIMES = Array.from({ length: 31 }, (_, index) => 100 + index);
const at = (time: number | null, anchor: number | null = null): Reading => ({ at: time, anchor });
const moved = (time: number, anchor: number | null = null): Pressed => ({ reading: at(time, anchor), does: { kind: "moved" } });

describe("keys in a chart", () => {
  test.each<[string, Reading, string, boolean, Pressed | null]>([
    ["the first arrow reads the newest point", NOT_READING, "ArrowLeft", false, moved(130)],
    ["left is one earlier", at(130), "ArrowLeft", false, moved(129)],
    ["right is one later", at(110), "ArrowRight", false, moved(111)],
    ["Shift is ten", at(115), "ArrowLeft", true, moved(105)],
    ["Shift from the newest", NOT_READING, "ArrowLeft", true, moved(120)],
    ["not beyond the oldest", at(103), "ArrowLeft", true, moved(100)],
    ["not beyond the newest", at(125), "ArrowRight", true, moved(130)],
    ["to the oldest", at(115), "Home", false, moved(100)],
    ["to the newest", at(115), "End", false, moved(130)],
    ["a point that has left the view is the oldest in it", at(50), "ArrowRight", false, moved(101)],
    ["moving keeps a selection open", at(115, 110), "ArrowRight", false, moved(116, 110)],
    ["Enter begins", at(115), "Enter", false, { reading: at(115, 115), does: { kind: "began" } }],
    ["Enter begins at the newest where nothing is read", NOT_READING, "Enter", false, { reading: at(130, 130), does: { kind: "began" } }],
    ["Enter ends", at(120, 110), "Enter", false, { reading: NOT_READING, does: { kind: "selected", from: 110, to: 120 } }],
    ["in either order", at(105, 110), "Enter", false, { reading: NOT_READING, does: { kind: "selected", from: 105, to: 110 } }],
    ["nothing is no selection", at(110, 110), "Enter", false, { reading: at(110), does: { kind: "dropped" } }],
    ["Escape gives a selection up", at(120, 110), "Escape", false, { reading: at(120), does: { kind: "dropped" } }],
    ["Escape goes back", at(120), "Escape", false, { reading: NOT_READING, does: { kind: "back" } }],
    ["other keys are the page's", at(120), "g", false, null],
    ["so is Tab", at(120), "Tab", false, null],
  ])("%s", (_, reading, key, shift, expected) => expect(press(reading, key, shift, TIMES)).toEqual(expected));

  test.each(["ArrowLeft", "ArrowRight", "Home", "End", "Enter"])("%s does nothing without points", (key) =>
    expect(press(NOT_READING, key, false, [])).toEqual({ reading: NOT_READING, does: { kind: "nothing" } }),
  );
});
