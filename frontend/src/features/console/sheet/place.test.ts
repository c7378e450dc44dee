import { describe, expect, it } from "vitest";
import { moved } from "./place";

const SIZE = { rows: 30, columns: 4 };

describe("keys of a sheet", () => {
  it.each([
    ["ArrowDown", false, { row: 6, column: 2 }],
    ["ArrowLeft", false, { row: 5, column: 1 }],
    ["ArrowDown", true, { row: 29, column: 2 }],
    ["PageUp", false, { row: 0, column: 2 }],
    ["Home", false, { row: 5, column: 0 }],
    ["Home", true, { row: 0, column: 0 }],
    ["End", true, { row: 29, column: 3 }],
  ])("%s (far: %s)", (key, far, place) => {
    expect(moved({ row: 5, column: 2 }, key, SIZE, far)).toEqual(place);
  });

  it("other keys do not move", () => {
    expect(moved({ row: 0, column: 0 }, "a", SIZE)).toBeNull();
  });
});
