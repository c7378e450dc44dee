/** Where the keys of a sheet lead. Pure. */

export interface Place {
  row: number;
  column: number;
}

const PAGE = 10;

/** The place after a key, kept within the sheet; null for keys that do not move. */
export function moved(from: Place, key: string, size: { rows: number; columns: number }, far = false): Place | null {
  const steps: Record<string, [number, number]> = {
    ArrowDown: [far ? size.rows : 1, 0],
    ArrowUp: [far ? -size.rows : -1, 0],
    ArrowRight: [0, far ? size.columns : 1],
    ArrowLeft: [0, far ? -size.columns : -1],
    PageDown: [PAGE, 0],
    PageUp: [-PAGE, 0],
    Home: [far ? -size.rows : 0, -size.columns],
    End: [far ? size.rows : 0, size.columns],
  };
  const step = steps[key];
  if (step === undefined) return null;
  const within = (at: number, count: number) => Math.max(0, Math.min(count - 1, at));
  return { row: within(from.row + step[0], size.rows), column: within(from.column + step[1], size.columns) };
}
