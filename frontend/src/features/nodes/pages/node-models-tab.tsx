/** What runs here. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { endpointsQuery } from "@/api/endpoints";
import type { Replica } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes, seconds } from "@/components/format";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { useNode } from "../hooks/use-node";

export function NodeModelsTab() {
  const node = useNode();
  const endpoints = useQuery(endpointsQuery());
  const model = (row: Replica) =>
    endpoints.data?.items.find((item) => item.name === row.endpoint)?.deployments.find((item) => item.name === row.deployment);
  const columns: Column<Replica>[] = [
    {
      id: "endpoint",
      header: t`Endpoint`,
      cell: (row) => (
        <Link {...paths.endpointTab(row.endpoint, "deployments")} className="link">
          {row.endpoint} / {row.deployment}
        </Link>
      ),
    },
    {
      id: "model",
      header: t`Model`,
      hideBelow: "sm",
      cell: (row) => {
        const found = model(row);
        return found ? (
          <Link {...paths.modelVersion(found.model, found.version)} className="link">
            {found.model} v{found.version}
          </Link>
        ) : (
          <span className="muted">–</span>
        );
      },
    },
    { id: "ordinal", header: t`Replica`, align: "right", width: 70, cell: (row) => row.ordinal },
    { id: "state", header: t`Status`, cell: (row) => <Status state={row.state} {...(row.error ? { title: row.error.message } : {})} /> },
    { id: "memory", header: t`Memory`, align: "right", cell: (row) => bytes(row.memory_bytes) },
    { id: "loaded", header: t`Loaded in`, align: "right", hideBelow: "md", cell: (row) => seconds(row.load_seconds) },
    { id: "restarts", header: t`Restarts`, align: "right", hideBelow: "sm", cell: (row) => row.restarts },
    { id: "started", header: t`Started`, hideBelow: "md", cell: (row) => <Time at={row.started_at} /> },
    {
      id: "logs",
      header: (
        <span className="sr-only">
          <Trans>Logs</Trans>
        </span>
      ),
      align: "right",
      cell: (row) => (
        <Link to="/nodes/$name/logs" params={{ name: node.name }} search={{ replica: row.id }} className="link">
          <Trans>Logs</Trans>
        </Link>
      ),
    },
  ];
  return (
    <Card title={t`Replicas`} hint={`${node.replicas.length}`} flush>
      <DataTable
        label={t`Replicas`}
        columns={columns}
        rows={node.replicas}
        rowKey={(row) => row.id}
        empty={<EmptyState title={t`Nothing runs here`} detail={t`Deployments place their replicas by themselves, where there is room.`} />}
      />
    </Card>
  );
}
