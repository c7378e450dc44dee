/** The visible part of a chart in numbers. */
import { t } from "@lingui/core/macro";
import type { Plot } from "./plot";
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

/** Of what is in view. */
export function summarise(lines: readonly { label: string }[], plot: Plot): SummaryRow[] {
  const view = plot.view;
  const known = (values: readonly (number | null)[]) => values.slice(...view).filter((value) => value !== null);
  return lines.map(({ label }, index) => {
    const values = (plot.raw[index] ?? []).slice(...view);
    const { low, high } = plot.boundsOf(index);
    const [lows, highs] = [known(low), known(high)];
    return {
      label,
      last: values.at(-1) ?? null,
      min: lows.length > 0 ? Math.min(...lows) : null,
      mean: meanOverTime(plot.times.slice(...view), values),
      max: highs.length > 0 ? Math.max(...highs) : null,
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
