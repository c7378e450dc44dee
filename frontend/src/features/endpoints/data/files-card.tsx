/** Files of captured requests. */
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
  if (error && !data) return <LoadProblem error={error} what="The captured files" needs="deploy" onRetry={() => void refetch()} />;
  const columns: Column<CapturedFile>[] = [
    { id: "from", header: "From", cell: (row) => <Time at={row.first_at} /> },
    { id: "to", header: "To", hideBelow: "sm", cell: (row) => <Time at={row.last_at} /> },
    { id: "records", header: "Requests", align: "right", cell: (row) => count(row.records) },
    { id: "dropped", header: "Dropped", align: "right", hideBelow: "md", cell: (row) => count(row.dropped ?? 0) },
    { id: "size", header: "Size", align: "right", hideBelow: "sm", cell: (row) => bytes(row.size) },
    { id: "expires", header: "Removed", hideBelow: "md", cell: (row) => <Time at={row.expires_at} /> },
    {
      id: "download",
      header: "File",
      cell: (row) => (
        <a className="link" href={capturedFilePath(endpoint, deployment, row.id)} download aria-label={`Download ${row.id.slice(0, 8)}`}>
          <IconDownload size={15} aria-hidden /> {row.id.slice(0, 8)}
        </a>
      ),
    },
  ];
  return (
    <Card title="Captured requests" hint="who fetches a file is among the events" flush>
      <DataTable
        label="Captured requests"
        columns={columns}
        rows={data}
        rowKey={(row) => row.id}
        loading={isPending}
        compact
        empty={<p className={`${classes["none"] ?? ""} muted`}>No files are kept.</p>}
      />
    </Card>
  );
}
