/** Which batch sizes ran, and what they cost: means over what is shown. Pure. */
import { batchKey, batchTimeKey } from "@/live/metric-keys";

export interface BatchRow {
  size: number;
  /** Of all executions. */
  executions: number;
  /** Of all inferences: a batch of 8 counts as 8. */
  inferences: number;
  /** Mean time in the model of one execution, in microseconds. */
  compute: number | null;
  perItem: number | null;
  /** No other size takes less time for each item. */
  best: boolean;
}

export interface BatchTable {
  rows: BatchRow[];
  /** Inferences per execution; null when nothing ran. */
  mean: number | null;
}

const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value): value is number => value !== null);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** A size that ran so rarely says little about which is best. */
const FEWEST = 0.01;

export function batchTable(sizes: readonly number[], read: (key: string) => readonly (number | null)[]): BatchTable {
  // why zero for a gap of one size where others ran: its share was nothing then.
  const columns = sizes.map((size) => ({ size, share: read(batchKey(size)), compute: mean(read(batchTimeKey(size))) }));
  const length = Math.max(0, ...columns.map((column) => column.share.length));
  const ran = Array.from({ length }, (_, index) => index).filter((index) => columns.some((column) => (column.share[index] ?? 0) > 0));
  const weights = columns.map((column) => ran.reduce((sum, index) => sum + (column.share[index] ?? 0), 0));
  const executions = weights.reduce((sum, weight) => sum + weight, 0);
  if (executions === 0) return { rows: [], mean: null };
  const items = columns.reduce((sum, { size }, index) => sum + size * (weights[index] ?? 0), 0);
  const rows = columns.map(({ size, compute }, index) => ({
    size,
    executions: (weights[index] ?? 0) / executions,
    inferences: (size * (weights[index] ?? 0)) / items,
    compute,
    perItem: compute === null ? null : compute / size,
    best: false,
  }));
  const least = Math.min(...rows.filter((row) => row.executions >= FEWEST).map((row) => row.perItem ?? Number.POSITIVE_INFINITY));
  return {
    rows: rows.filter((row) => row.executions > 0).map((row) => ({ ...row, best: row.executions >= FEWEST && row.perItem === least })),
    mean: items / executions,
  };
}
