/** The visible part of a chart in numbers. */
import { t } from "@lingui/core/macro";
import { valueText, type Unit } from "./units";
import { meanOverTime } from "./widths";
import classes from "./charts.module.css";

export interface SummaryRow {
  label: string;
  last: number | null;
  min: number | null;
  mean: number | null;
  max: number | null;
}

export function summarise(
  lines: readonly { label: string }[],
  times: readonly number[],
  values: readonly (readonly (number | null)[])[],
): SummaryRow[] {
  return lines.map((line, index) => {
    const known = (values[index] ?? []).filter((value): value is number => value !== null);
    const all = values[index] ?? [];
    if (known.length === 0) return { label: line.label, last: null, min: null, mean: null, max: null };
    return {
      label: line.label,
      last: all[all.length - 1] ?? null,
      min: Math.min(...known),
      mean: meanOverTime(times, all),
      max: Math.max(...known),
    };
  });
}

export function SummaryTable({ label, rows, unit, height }: { label: string; rows: SummaryRow[]; unit: Unit; height: number }) {
  return (
    <div className={classes["tableBox"]} style={{ height }}>
      <table aria-label={t`${label}, visible range`}>
        <thead>
          <tr>
            {[t`Series`, t`Last`, t`Lowest`, t`Mean`, t`Highest`].map((word) => (
              <th key={word} scope="col">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.label}>
              <th scope="row">{row.label}</th>
              <td>{valueText(unit, row.last)}</td>
              <td>{valueText(unit, row.min)}</td>
              <td>{valueText(unit, row.mean)}</td>
              <td>{valueText(unit, row.max)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
