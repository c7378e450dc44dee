/** Which batch sizes ran, and what they cost: means over the time shown, in which points have different widths. Pure. */
import { meanOverTime, widthsOf } from "@/components/charts/widths";
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

/** A size that ran so rarely says little about which is best. */
const FEWEST = 0.01;

type Read = (key: string) => readonly (number | null)[];

export function batchTable(sizes: readonly number[], times: readonly number[], read: Read): BatchTable {
  const columns = sizes.map((size) => ({ size, share: read(batchKey(size)), compute: meanOverTime(times, read(batchTimeKey(size))) }));
  // why zero for a gap: where one size ran, the share of the others was nothing; where none did, nothing is counted.
  const widths = widthsOf(times);
  const weights = columns.map((column) => widths.reduce((sum, width, index) => sum + width * (column.share[index] ?? 0), 0));
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
