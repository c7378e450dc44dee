/** What differs between the answer in view and another of the history. */
import { CloseButton } from "@mantine/core";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { clock, count, significant } from "@/components/format";
import type { CallRecord } from "./outcome";
import { differences, type Difference } from "./tensor-difference";

const COLUMNS: Column<Difference>[] = [
  { id: "name", header: "Output", cell: (row) => <span className="mono">{row.name}</span> },
  {
    id: "equal",
    header: "Equal values",
    cell: (row) => row.reason ?? `${count(row.equal)} of ${count(row.count)}`,
  },
  {
    id: "largest",
    header: "Largest step",
    align: "right",
    cell: (row) => (row.largest === null ? "–" : significant(row.largest)),
  },
  { id: "mean", header: "Mean step", align: "right", cell: (row) => (row.mean === null ? "–" : significant(row.mean)) },
  {
    id: "best",
    header: "Best class",
    cell: (row) => (row.sameBest === null ? "–" : row.sameBest ? "the same" : "another"),
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
      title="Difference"
      hint={`the answer in view (${clock(shown.at)}) against that of ${clock(other.at)}`}
      actions={<CloseButton aria-label="Close the difference" onClick={onClose} />}
      flush
    >
      <DataTable
        compact
        label="Difference of two answers"
        columns={COLUMNS}
        rows={differences(outputsOf(other), outputsOf(shown))}
        rowKey={(row) => row.name}
      />
    </Card>
  );
}
