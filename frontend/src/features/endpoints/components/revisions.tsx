/** What a deployment was asked to run, the newest first: compare with now, go back. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { revisionsQuery, rollBack } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment, DeploymentRevision } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { rollBackRecipe } from "../recipes";
import { type Difference, differences } from "../revision-diff";
import classes from "./revisions.module.css";

function Differences({ from, to }: { from: DeploymentRevision; to: DeploymentRevision }) {
  const found = differences(from, to);
  if (found.length === 0)
    return (
      <p className="secondary">
        <Trans>Nothing differs: the same files with the same settings.</Trans>
      </p>
    );
  const columns: Column<Difference>[] = [
    { id: "field", header: t`Setting`, cell: (row) => row.field },
    { id: "before", header: t`Revision ${from.number}, now`, cell: (row) => <span className={classes["before"]}>{row.before}</span> },
    { id: "after", header: t`Revision ${to.number}`, cell: (row) => <span className={classes["after"]}>{row.after}</span> },
  ];
  return (
    <DataTable
      compact
      label={t`Differences between revision ${from.number} and ${to.number}`}
      columns={columns}
      rows={found}
      rowKey={(row) => row.field}
    />
  );
}

function stateOf(revision: DeploymentRevision): React.ReactNode {
  if (revision.current) return <Status state={t`Current`} tone={revision.succeeded ? "ok" : "info"} />;
  return revision.succeeded ? <Status state={t`Came up`} tone="idle" /> : <Status state={t`Never came up`} tone="warn" />;
}

export function Revisions({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({ ...revisionsQuery(endpoint, deployment.name), refetchInterval: 10_000 });
  const [wanted, setWanted] = useState<DeploymentRevision | null>(null);
  const refusal = useRefusal("deploy");
  const current = data?.items.find((item) => item.current);
  const columns: Column<DeploymentRevision>[] = [
    { id: "number", header: t`Revision`, width: 80, cell: (row) => row.number },
    {
      id: "model",
      header: t`Model`,
      cell: (row) => `${row.model} v${row.version}${row.config_revision ? t`, configuration ${row.config_revision}` : ""}`,
    },
    { id: "state", header: t`Status`, cell: stateOf },
    { id: "cause", header: t`Why`, hideBelow: "md", cell: (row) => row.cause },
    { id: "author", header: t`By`, hideBelow: "md", cell: (row) => row.author },
    { id: "at", header: t`When`, hideBelow: "sm", cell: (row) => <Time at={row.created_at} /> },
    {
      id: "back",
      header: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      align: "right",
      cell: (row) =>
        row.current ? null : (
          <Button
            variant="default"
            leftSection={<IconHistory size={15} />}
            disabled={refusal !== undefined}
            title={refusal}
            onClick={() => setWanted(row)}
          >
            <Trans>Compare, roll back</Trans>
          </Button>
        ),
    },
  ];
  if (error) return <ProblemCard error={error} title={t`The revisions could not be read`} onRetry={() => void refetch()} />;
  return (
    <>
      <DataTable
        compact
        label={t`Revisions of ${deployment.name}`}
        columns={columns}
        rows={data?.items}
        loading={isPending}
        rowKey={(row) => String(row.number)}
      />
      <ConfirmModal
        opened={wanted !== null}
        onClose={() => setWanted(null)}
        title={t`Roll ${deployment.name} back to revision ${wanted?.number ?? ""}`}
        confirmLabel={t`Roll back to revision ${wanted?.number ?? ""}`}
        onConfirm={async () => {
          if (!wanted) return;
          await rollBack(endpoint, deployment.name, wanted.number);
          await queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) });
          notifyDone(t`${deployment.name} is going back to revision ${wanted.number}`);
        }}
      >
        {wanted && current ? <Differences from={current} to={wanted} /> : null}
        <p>
          <Trans>
            What serves now serves until the replicas of that revision answer. Its files are on the nodes already, if nothing evicted them.
          </Trans>
        </p>
        {wanted && !wanted.succeeded ? (
          <p>
            <Trans>
              <b>Revision {wanted.number} never came up.</b> If it fails again, what serves now stays.
            </Trans>
          </p>
        ) : null}
        {wanted ? <AsCodeButton wide recipe={() => rollBackRecipe(endpoint, deployment.name, wanted.number)} /> : null}
      </ConfirmModal>
    </>
  );
}
