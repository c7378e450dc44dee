/** What differs between the answer in view and another of the history. */
import { t } from "@lingui/core/macro";
import { CloseButton } from "@mantine/core";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { clock, count, significant } from "@/components/format";
import type { CallRecord } from "./outcome";
import { differences, type Difference } from "./tensor-difference";

const COLUMNS: Column<Difference>[] = [
  { id: "name", header: t`Output`, cell: (row) => <span className="mono">{row.name}</span> },
  {
    id: "equal",
    header: t`Equal values`,
    cell: (row) => row.reason ?? t`${count(row.equal)} of ${count(row.count)}`,
  },
  {
    id: "largest",
    header: t`Largest step`,
    align: "right",
    cell: (row) => (row.largest === null ? "–" : significant(row.largest)),
  },
  { id: "mean", header: t`Mean step`, align: "right", cell: (row) => (row.mean === null ? "–" : significant(row.mean)) },
  {
    id: "best",
    header: t`Best class`,
    cell: (row) => (row.sameBest === null ? "–" : row.sameBest ? t`the same` : t`another`),
  },
];

export interface DifferenceCardProps {
  shown: CallRecord;
  other: CallRecord;
  onClose: () => void;
}

const outputsOf = ({ outcome, parts }: CallRecord) =>
  outcome?.kind === "result" && outcome.outputs.length > 0 ? outcome.outputs : (parts.at(-1)?.outputs ?? []);

export function DifferenceCard({ shown, other, onClose }: DifferenceCardProps) {
  return (
    <Card
      title={t`Difference`}
      hint={t`the answer in view (${clock(shown.at)}) against that of ${clock(other.at)}`}
      actions={<CloseButton aria-label={t`Close the difference`} onClick={onClose} />}
      flush
    >
      <DataTable
        compact
        label={t`Difference of two answers`}
        columns={COLUMNS}
        rows={differences(outputsOf(other), outputsOf(shown))}
        rowKey={(row) => row.name}
      />
    </Card>
  );
}
