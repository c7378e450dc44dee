/** Which model calls which other one (BLS), with figures: for reading, for screen readers, and for phones. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { ModelCalls } from "@/api/types";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { count, duration, MISSING } from "@/components/format";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { metricText } from "@/metrics/registry";
import { each, failingCalls, perSecond } from "./steps";
import classes from "./pipeline.module.css";

const COLUMNS: Column<ModelCalls>[] = [
  {
    id: "caller",
    header: t`Caller and callee`,
    cell: (row) => (
      <span className={classes["marks"]}>
        <span>
          <Trans>
            <span className="mono">{row.caller}</span> calls <span className="mono">{row.callee}</span>
          </Trans>
        </span>
        {failingCalls(row).map((mark) => (
          <Status key={mark.text} state={mark.text} tone={mark.tone} />
        ))}
      </span>
    ),
  },
  { id: "rate", header: t`Calls`, align: "right", cell: (row) => perSecond(row.call_rate) },
  {
    id: "each",
    header: t`For each request`,
    align: "right",
    hideBelow: "sm",
    cell: (row) => (row.per_request === null ? MISSING : each(row.per_request)),
  },
  { id: "mean", header: t`Mean time`, align: "right", cell: (row) => duration(row.mean_us) },
  { id: "errors", header: t`Errors`, align: "right", hideBelow: "sm", cell: (row) => metricText("failed_other", row.failure_rate) },
  { id: "all", header: t`In all`, align: "right", hideBelow: "sm", cell: (row) => count(row.calls) },
  { id: "last", header: t`Last`, align: "right", hideBelow: "md", cell: (row) => <Time at={row.last_at} /> },
];

export function CallsTable({ calls }: { calls: readonly ModelCalls[] }) {
  return (
    <DataTable
      label={t`Calls between models`}
      columns={COLUMNS}
      rows={calls}
      rowKey={(row) => `${row.caller} ${row.callee}`}
      empty={
        <EmptyState
          title={t`No calls seen yet`}
          detail={t`Which model a Python model calls stands in no configuration: replicas count its calls as they end.`}
        />
      }
    />
  );
}
