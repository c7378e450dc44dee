/** The visible series as a table for a spreadsheet: one row per time, one column per series, a gap is an empty cell. */
import type { Ring } from "@/live/ring";

const HEAD = "time";

/** Names and numbers may not break the table, and a name may not start a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Points of `keys` between `from` and `to` (Unix seconds). Values are as measured: microseconds, bytes, shares. */
export function toCsv(ring: Ring, keys: readonly string[], from: number, to: number): string {
  const first = ring.firstIndex(from);
  const times = ring.readTimes(first);
  const columns = keys.map((key) => ring.read(key, first));
  const rows = [[HEAD, ...keys.map(cell)].join(",")];
  times.forEach((time, index) => {
    if (time > to) return;
    const values = columns.map((column) => column[index] ?? null);
    rows.push([new Date(time * 1000).toISOString(), ...values.map((value) => (value === null ? "" : String(value)))].join(","));
  });
  return `${rows.join("\n")}\n`;
}
