/** Where the time of one request went: a table whose last column draws when each part began and ended. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { duration, fixed } from "@/components/format";
import { Chip } from "@/components/status";
import type { Row } from "./requests";
import classes from "./waterfall.module.css";

/** For a style. */
const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
const told = (share: number): string => `${fixed(share * 100, 2)}%`;

export function Waterfall({ rows }: { rows: readonly Row[] }) {
  return (
    <div className={classes["scroll"]} role="region" aria-label={t`Where its time went`} tabIndex={0}>
      <table className={classes["waterfall"]}>
        <caption className="sr-only">
          <Trans>Where its time went, in the order in which it happened</Trans>
        </caption>
        <thead className="sr-only">
          <tr>
            <th scope="col">
              <Trans>Part</Trans>
            </th>
            <th scope="col">
              <Trans>Took</Trans>
            </th>
            <th scope="col">
              <Trans>When</Trans>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // The parts of a request do not move.
            <tr key={`${at} ${row.label}`}>
              <th scope="row" style={{ paddingInlineStart: `calc(${row.depth} * var(--space-5))` }}>
                <span className={row.leaf ? undefined : classes["whole"]}>{row.label}</span>
                {row.slow ? (
                  <Chip tone="warn">
                    <Trans>slow</Trans>
                  </Chip>
                ) : null}
                {row.note ? <span className={classes["note"]}>{row.note}</span> : null}
              </th>
              <td className={classes["took"]}>{duration(row.us)}</td>
              <td className={classes["drawn"]}>
                <span className="sr-only">
                  <Trans>
                    from {told(row.begin)} to {told(row.begin + row.width)} of the whole
                  </Trans>
                </span>
                <span className={classes["track"]} aria-hidden>
                  <span
                    className={classes["bar"]}
                    data-leaf={row.leaf || undefined}
                    data-slow={row.slow || undefined}
                    style={{ insetInlineStart: percent(row.begin), width: percent(row.width) }}
                  />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
