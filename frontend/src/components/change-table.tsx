/** Before and after, one line per name. */
import { Trans } from "@lingui/react/macro";
import classes from "./change-table.module.css";
import { type Change, valueText } from "./event-changes";

export function ChangeTable({ changes, label }: { changes: readonly Change[]; label: string }) {
  return (
    <table className={classes["table"]} aria-label={label}>
      <thead>
        <tr>
          <th scope="col">
            <Trans>Name</Trans>
          </th>
          <th scope="col">
            <Trans>Before</Trans>
          </th>
          <th scope="col">
            <Trans>After</Trans>
          </th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.path}>
            <th scope="row" className="mono">
              {change.path || "value"}
            </th>
            <td className={`${classes["before"]} mono`}>{valueText(change.before)}</td>
            <td className={`${classes["after"]} mono`}>{valueText(change.after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
