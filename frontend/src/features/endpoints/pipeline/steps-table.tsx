/** The figures of a pipeline's steps as a table: for reading, for screen readers, and for phones. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { StepFigures } from "@/api/types";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { count, duration, percent } from "@/components/format";
import { Status } from "@/components/status";
import { metricText } from "@/metrics/registry";
import { batch, marksOf, perSecond } from "./steps";
import classes from "./pipeline.module.css";

const COLUMNS: Column<StepFigures>[] = [
  {
    id: "name",
    header: t`Model`,
    cell: (row) => (
      <span className={classes["marks"]}>
        <span className="mono">{row.name}</span>
        {row.executes ? null : (
          <span className="muted">
            <Trans>ensemble</Trans>
          </span>
        )}
        {marksOf(row).map((mark) => (
          <Status key={mark.text} state={mark.text} tone={mark.tone} />
        ))}
      </span>
    ),
  },
  { id: "rate", header: t`Requests`, align: "right", cell: (row) => perSecond(row.request_rate) },
  { id: "share", header: t`Of the time`, align: "right", hideBelow: "sm", cell: (row) => percent(row.share) },
  { id: "queue", header: t`Queue`, align: "right", cell: (row) => duration(row.queue_us) },
  { id: "compute", header: t`Compute`, align: "right", cell: (row) => duration(row.compute_us) },
  { id: "batch", header: t`Mean batch`, align: "right", hideBelow: "md", cell: batch },
  { id: "busy", header: t`Instances busy`, align: "right", hideBelow: "md", cell: (row) => percent(row.busy) },
  { id: "pending", header: t`Waiting now`, align: "right", hideBelow: "sm", cell: (row) => count(row.pending) },
  { id: "errors", header: t`Errors`, align: "right", cell: (row) => metricText("failed_other", row.failure_rate) },
];

export function StepsTable({ steps }: { steps: readonly StepFigures[] }) {
  return (
    <DataTable
      label={t`Steps`}
      columns={COLUMNS}
      rows={steps}
      rowKey={(row) => row.name}
      empty={<EmptyState title={t`Nothing is measured`} detail={t`Figures come from replicas that run.`} />}
    />
  );
}
