/** Deployments that run on this version, and those that could go back to it. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { usageQuery } from "@/api/models";
import type { Usage } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ProblemCard } from "@/components/problem-card";
import { Status } from "@/components/status";
import { usePaged } from "../components/pager";
import { useVersion } from "../hooks";

const COLUMNS: Column<Usage>[] = [
  {
    id: "endpoint",
    header: t`Endpoint`,
    cell: (row) => (
      <Link {...paths.endpointTab(row.endpoint, "deployments")} className="link">
        {row.endpoint}
      </Link>
    ),
  },
  { id: "deployment", header: t`Deployment`, cell: (row) => row.deployment },
  {
    id: "current",
    header: t`Runs it`,
    cell: (row) => (row.current ? <Status plain state={t`now`} tone="ok" /> : <Status plain state={t`before`} tone="idle" />),
  },
  {
    id: "config",
    header: t`Configuration`,
    hideBelow: "sm",
    cell: (row) => (row.config_revision === null ? t`as uploaded` : t`revision ${row.config_revision}`),
  },
  {
    id: "revisions",
    header: t`Can go back to it by`,
    hideBelow: "md",
    cell: (row) => (row.revisions.length > 0 ? t`deployment revision ${row.revisions.join(", ")}` : "–"),
  },
];

export function UsageTab() {
  const { name, version } = useVersion();
  const { data, error, isPending, refetch } = useQuery(usageQuery(name, version.version));
  const { rows, pager } = usePaged(data?.items, t`Pages of deployments`);
  if (error) return <ProblemCard error={error} title={t`The usage could not be loaded`} onRetry={() => void refetch()} />;
  return (
    <Card title={t`Used by`} hint={t`a version that is used, or may be gone back to, cannot be deleted`} flush>
      <DataTable
        label={t`Deployments that use this version`}
        columns={COLUMNS}
        rows={rows}
        rowKey={(row) => `${row.endpoint}/${row.deployment}`}
        loading={isPending}
        empty={<EmptyState title={t`Nothing uses this version`} detail={t`It can be deleted without consequences.`} />}
      />
      {pager}
    </Card>
  );
}
