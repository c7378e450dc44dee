/** Single requests: the newest, the slowest, those that failed, and the one that a caller tells the id of. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type RequestsSearch, requestsQuery } from "@/api/requests";
import type { SeenRequest } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes, clock, duration, MISSING } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { Chip } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { useEndpoint } from "../hooks/use-endpoint";
import { RequestDetails } from "../requests/request-details";
import { inReplicaUs, type RequestView, SHORT, statusText, VIEWS } from "../requests/requests";

const MOST = 100;

const COLUMNS: Column<SeenRequest>[] = [
  { id: "at", header: t`Time`, width: 100, cell: (row) => <span className="mono">{clock(new Date(row.at * 1000))}</span> },
  {
    id: "status",
    header: t`Status`,
    width: 110,
    cell: (row) => <Chip tone={row.status_class === "5xx" ? "error" : row.status_class === "4xx" ? "warn" : "ok"}>{statusText(row)}</Chip>,
  },
  { id: "took", header: t`Took`, align: "right", cell: (row) => duration(row.duration_us) },
  { id: "replica_us", header: t`In replica`, align: "right", hideBelow: "md", cell: (row) => duration(inReplicaUs(row)) },
  {
    id: "deployment",
    header: t`Deployment`,
    cell: (row) =>
      row.deployment || (
        <span className="muted">
          <Trans>gateway</Trans>
        </span>
      ),
  },
  { id: "node", header: t`Node`, hideBelow: "md", cell: (row) => row.node || MISSING },
  { id: "in", header: t`In`, align: "right", hideBelow: "lg", cell: (row) => bytes(row.request_bytes) },
  { id: "out", header: t`Out`, align: "right", hideBelow: "lg", cell: (row) => bytes(row.response_bytes) },
  { id: "path", header: t`Call`, hideBelow: "lg", cell: (row) => <span className="mono">{row.path}</span> },
  {
    id: "id",
    header: t`Id`,
    cell: (row) => (
      <span className="mono" title={row.id}>
        {row.id.slice(0, SHORT)}
      </span>
    ),
  },
];

const asked = (view: RequestView, id: string | undefined): RequestsSearch => ({
  limit: MOST,
  ...(view === "slowest" ? { order: "slowest" as const } : {}),
  ...(view === "failed" ? { status: "failed" as const } : {}),
  ...(id ? { id, range: 21_600 } : {}),
});

export function RequestsTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/requests" });
  const navigate = useNavigate({ from: "/endpoints/$name/requests" });
  const view: RequestView = search.view ?? "newest";
  const { data, error, isPending, refetch } = useQuery(requestsQuery(endpoint.name, asked(view, search.id)));
  const [opened, setOpened] = useState<SeenRequest | null>(null);
  return (
    <>
      <div className={toolbar["toolbar"]}>
        <Segmented
          label={t`Which requests`}
          value={view}
          options={VIEWS}
          onChange={(value) =>
            void navigate({ search: (old) => ({ ...old, view: value === "newest" ? undefined : value }), replace: true })
          }
        />
        <ListFilter
          label="x-request-id"
          value={search.id ?? ""}
          onChange={(id) => void navigate({ search: (old) => ({ ...old, id: id || undefined }), replace: true })}
        />
      </div>
      {error ? <ProblemCard error={error} title={t`The requests could not be loaded`} onRetry={() => void refetch()} /> : null}
      {error ? null : (
        <Card
          title={t`Requests`}
          hint={search.id ? t`of the last 6 hours` : t`of the last hour; gateways tell of failed ones, slow ones, and a few of all`}
          flush
        >
          <DataTable
            label={t`Requests`}
            columns={COLUMNS}
            rows={data}
            rowKey={(row) => `${row.id} ${row.at}`}
            loading={isPending}
            onOpen={setOpened}
            compact
            empty={
              <EmptyState
                title={search.id ? t`No request with this id was kept` : view === "failed" ? t`No request failed` : t`No request was seen`}
                detail={t`Every two seconds gateways tell of three that failed, three that were refused, the three slowest and three of all others.`}
              />
            }
          />
        </Card>
      )}
      <RequestDetails endpoint={endpoint.name} request={opened} onClose={() => setOpened(null)} />
    </>
  );
}
