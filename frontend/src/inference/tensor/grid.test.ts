import { describe, expect, it } from "vitest";
import { pasteSheet, readSheet, sheetOf, sheetOffset, sheetText } from "./grid";

describe("sheets", () => {
  it("are the last two axes, a vector alone is a column", () => {
    expect(sheetOf([])).toEqual({ rows: 1, columns: 1, leading: [] });
    expect(sheetOf([5])).toEqual({ rows: 5, columns: 1, leading: [] });
    expect(sheetOf([2, 3, 4, 5])).toEqual({ rows: 4, columns: 5, leading: [2, 3] });
    expect(sheetOffset(sheetOf([2, 3, 4, 5]), [1, 2])).toBe((1 * 3 + 2) * 20);
    expect(sheetOffset(sheetOf([2, 3, 4, 5]), [9, 0])).toBe(60);
  });

  it("take what a sheet program copies", () => {
    expect(readSheet("1\t2\r\n3\t4\r\n")).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
    expect(readSheet("1,2\n3,4")).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
    expect(readSheet("1;2")).toEqual([["1", "2"]]);
    expect(readSheet("0.5")).toEqual([["0.5"]]);
    const sheet = sheetOf([2, 2, 2]);
    const pasted = pasteSheet(["", "", "", "", "", "", "", ""], sheet, 4, { row: 1, column: 0 }, [["a", "b", "c"], ["d"]]);
    expect(pasted).toEqual({ cells: ["", "", "", "", "", "", "a", "b"], lost: 2 });
    expect(sheetText(pasted.cells, sheet, 4)).toBe("\t\na\tb");
  });
});
