/** Every deployment with its busiest hour, its headroom and its cost. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconApi } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { capacityDeploymentsQuery } from "@/api/capacity";
import { useSeesInstallation } from "@/api/permissions";
import type { Capacity, CapacityDeployment } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { significant } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { ShowMore } from "@/components/show-more";
import toolbar from "@/components/toolbar.module.css";
import { metricText } from "@/metrics/registry";
import { money } from "../money";
import { Room } from "./room";

const LIMITS: Readonly<Record<string, string>> = {
  sweep: t`by its load sweep`,
  instances: t`by its instances`,
  processors: t`by processors`,
  gpus: t`by its GPUs`,
  concurrency: t`by requests at a time`,
};

function Headroom({ found }: { found: CapacityDeployment["headroom"] }) {
  return (
    <>
      {found.times === null ? t`not known` : `${significant(found.times)} × ${LIMITS[found.limit] ?? ""}`}
      <div className="secondary">{found.because}</div>
    </>
  );
}

const COLUMNS: Column<CapacityDeployment>[] = [
  {
    id: "name",
    header: t`Deployment`,
    cell: (row) => (
      <>
        <Link {...paths.endpointTab(row.endpoint, "deployments")} style={{ fontWeight: 600 }}>
          {row.endpoint}/{row.deployment}
        </Link>
        <div className="secondary">{row.project}</div>
      </>
    ),
  },
  { id: "replicas", header: t`Replicas`, align: "right", hideBelow: "sm", cell: (row) => row.replicas },
  {
    id: "peak",
    header: t`Busiest hour`,
    align: "right",
    hideBelow: "md",
    cell: (row) => metricText("request_rate", row.measured?.request_rate ?? null),
  },
  {
    id: "room",
    header: t`Room`,
    hideBelow: "md",
    cell: (row) => <Room endpoint={row.endpoint} deployment={row.deployment} />,
  },
  { id: "headroom", header: t`Headroom`, cell: (row) => <Headroom found={row.headroom} /> },
];

const costs = (currency: string): Column<CapacityDeployment>[] => [
  {
    id: "hour",
    header: t`Per hour`,
    align: "right",
    cell: (row) => (
      <>
        {money(row.cost.per_hour, currency)}
        {row.cost.unpriced > 0 ? (
          <div className="secondary">
            <Trans>{row.cost.unpriced} without a price</Trans>
          </div>
        ) : null}
      </>
    ),
  },
  { id: "day", header: t`Per day`, align: "right", hideBelow: "md", cell: (row) => money(row.cost.per_day, currency) },
  {
    id: "thousand",
    header: t`Per 1,000 requests`,
    align: "right",
    hideBelow: "sm",
    cell: (row) => money(row.cost.per_1000_requests, currency),
  },
];

export function DeploymentsCard({ capacity }: { capacity: Capacity | undefined }) {
  const all = useSeesInstallation();
  const [q, setQ] = useState("");
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    capacityDeploymentsQuery(q.trim()),
  );
  if (error && !data) return <LoadProblem error={error} what={t`The deployments`} needs="read" onRetry={() => void refetch()} />;
  return (
    <Card title={t`Deployments`} hint={t`headroom: how many times its busiest hour of the last day each could carry`} flush>
      <div className={toolbar["toolbar"]} style={{ padding: "0 12px" }}>
        <ListFilter label={t`Filter deployments`} value={q} onChange={setQ} />
        {capacity && !capacity.priced ? (
          <span className="secondary">
            {all ? (
              <Trans>
                No prices are set, so no costs are shown: <Link {...paths.prices()}>Settings, Prices</Link>
              </Trans>
            ) : (
              <Trans>No prices are set, so no costs are shown.</Trans>
            )}
          </span>
        ) : null}
      </div>
      <DataTable
        label={t`Capacity of deployments`}
        columns={capacity?.priced ? [...COLUMNS, ...costs(capacity.currency)] : COLUMNS}
        rows={data?.pages.flatMap((page) => page.items)}
        rowKey={(row) => `${row.endpoint}/${row.deployment}`}
        loading={isPending}
        empty={
          <EmptyState
            icon={<IconApi size={30} stroke={1.4} />}
            title={q.trim() ? t`No deployment matches the filter` : t`Nothing is deployed yet`}
          />
        }
      />
      <ShowMore hasNextPage={hasNextPage} isFetchingNextPage={isFetchingNextPage} fetchNextPage={fetchNextPage} inset />
    </Card>
  );
}
