/** Files of captured requests. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { capturedFilePath, capturedFilesQuery } from "@/api/capture";
import type { CapturedFile } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { LoadProblem } from "@/components/forbidden";
import { bytes, count } from "@/components/format";
import { Time } from "@/components/time";
import classes from "./data.module.css";

export function FilesCard({ endpoint, deployment }: { endpoint: string; deployment: string }) {
  const { data, error, isPending, refetch } = useQuery(capturedFilesQuery(endpoint, deployment));
  if (error && !data) return <LoadProblem error={error} what={t`The captured files`} needs="deploy" onRetry={() => void refetch()} />;
  const columns: Column<CapturedFile>[] = [
    { id: "from", header: t`From`, cell: (row) => <Time at={row.first_at} /> },
    { id: "to", header: t`To`, hideBelow: "sm", cell: (row) => <Time at={row.last_at} /> },
    { id: "records", header: t`Requests`, align: "right", cell: (row) => count(row.records) },
    { id: "dropped", header: t`Dropped`, align: "right", hideBelow: "md", cell: (row) => count(row.dropped ?? 0) },
    { id: "size", header: t`Size`, align: "right", hideBelow: "sm", cell: (row) => bytes(row.size) },
    { id: "expires", header: t`Removed`, hideBelow: "md", cell: (row) => <Time at={row.expires_at} /> },
    {
      id: "download",
      header: t`File`,
      cell: (row) => (
        <a className="link" href={capturedFilePath(endpoint, deployment, row.id)} download aria-label={t`Download ${row.id.slice(0, 8)}`}>
          <IconDownload size={15} aria-hidden /> {row.id.slice(0, 8)}
        </a>
      ),
    },
  ];
  return (
    <Card title={t`Captured requests`} hint={t`who fetches a file is among the events`} flush>
      <DataTable
        label={t`Captured requests`}
        columns={columns}
        rows={data}
        rowKey={(row) => row.id}
        loading={isPending}
        compact
        empty={
          <p className={`${classes["none"] ?? ""} muted`}>
            <Trans>No files are kept.</Trans>
          </p>
        }
      />
    </Card>
  );
}
