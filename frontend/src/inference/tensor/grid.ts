/** A tensor as the sheet of its last two axes, one sheet per place on the axes before them. Pure. */
import type { Shape } from "./shape";

export interface Sheet {
  rows: number;
  columns: number;
  /** The axes in front of the sheet, slowest first. */
  leading: number[];
}

/** `column`: a vector alone is a column, as one copies it from a sheet. */
export function sheetOf(shape: Shape): Sheet {
  if (shape.length === 0) return { rows: 1, columns: 1, leading: [] };
  if (shape.length === 1) return { rows: shape[0] ?? 0, columns: 1, leading: [] };
  return { rows: shape.at(-2) ?? 0, columns: shape.at(-1) ?? 0, leading: shape.slice(0, -2) };
}

/** Where the sheet at `place` begins among the elements. */
export function sheetOffset(sheet: Sheet, place: readonly number[]): number {
  const number = sheet.leading.reduce((at, size, axis) => at * size + Math.min(place[axis] ?? 0, Math.max(0, size - 1)), 0);
  return number * sheet.rows * sheet.columns;
}

/** Rows and columns of what a sheet program puts on the clipboard, or of CSV. */
export function readSheet(text: string): string[][] {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
  const separator = lines.some((line) => line.includes("\t"))
    ? "\t"
    : lines.some((line) => line.includes(";"))
      ? ";"
      : lines.some((line) => line.includes(","))
        ? ","
        : null;
  return lines.map((line) => (separator === null ? [line.trim()] : line.split(separator).map((word) => word.trim())));
}

/** The cells after a paste at a row and column; what reaches over the edge is left out and counted. */
export function pasteSheet(
  cells: readonly string[],
  sheet: Sheet,
  offset: number,
  at: { row: number; column: number },
  pasted: readonly (readonly string[])[],
): { cells: string[]; lost: number } {
  const result = [...cells];
  let lost = 0;
  for (const [down, line] of pasted.entries()) {
    for (const [right, text] of line.entries()) {
      const row = at.row + down;
      const column = at.column + right;
      if (row < sheet.rows && column < sheet.columns) result[offset + row * sheet.columns + column] = text;
      else lost += 1;
    }
  }
  return { cells: result, lost };
}

/** The sheet as tab-separated text, for the clipboard of a sheet program. */
export function sheetText(cells: ArrayLike<unknown>, sheet: Sheet, offset: number): string {
  return Array.from({ length: sheet.rows }, (_, row) =>
    Array.from({ length: sheet.columns }, (_, column) => String(cells[offset + row * sheet.columns + column] ?? "")).join("\t"),
  ).join("\n");
}
