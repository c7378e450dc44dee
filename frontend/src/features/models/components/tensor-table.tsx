/** Inputs or outputs of a model. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { Tensor } from "@/api/types";
import { type Column, DataTable } from "@/components/data-table";
import { bytes, shape, tensorBytes } from "@/components/format";
import { Chip } from "@/components/status";

export interface TensorTableProps {
  label: string;
  tensors: readonly Tensor[];
  /** Above 0 the batch axis is not part of the shapes. */
  maxBatchSize: number;
  /** Outputs may have labels. */
  labelled?: boolean;
}

export function TensorTable({ label, tensors, maxBatchSize, labelled = false }: TensorTableProps) {
  const columns: Column<Tensor>[] = [
    {
      id: "name",
      header: t`Name`,
      cell: (row) => (
        <>
          <span className="mono">{row.name}</span>{" "}
          {row.optional ? (
            <Chip>
              <Trans>optional</Trans>
            </Chip>
          ) : null}
        </>
      ),
    },
    { id: "type", header: t`Type`, width: 90, cell: (row) => <span className="mono">{row.datatype}</span> },
    { id: "shape", header: maxBatchSize > 0 ? t`Shape without batch` : t`Shape`, cell: (row) => shape(row.shape) },
    { id: "bytes", header: t`One item`, align: "right", cell: (row) => bytes(tensorBytes(row.datatype, row.shape)) },
  ];
  if (labelled) {
    columns.splice(3, 0, {
      id: "labels",
      header: t`Labels`,
      hideBelow: "md",
      cell: (row) => (row.labels && row.labels.length > 0 ? `${row.labels.length}` : "–"),
    });
  }
  return <DataTable compact label={label} columns={columns} rows={tensors} rowKey={(row) => row.name} />;
}
