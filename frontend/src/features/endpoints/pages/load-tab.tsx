/** How a deployment does under more and more load, and which configuration does best: measure it, and look at what was measured. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { isUnderWay } from "@/api/runs";
import { sweepsQuery } from "@/api/sweeps";
import type { Deployment, LoadSweepSummary } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Segmented } from "@/components/segmented";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { useEndpoint } from "../hooks/use-endpoint";
import classes from "../load/load.module.css";
import { SweepForm } from "../load/sweep-form";
import { SweepView } from "../load/sweep-view";
import { sweepTitle } from "../load/words";
import { Tunings } from "../tuning/tunings";

const COLUMNS: Column<LoadSweepSummary>[] = [
  { id: "what", header: t`Sweep`, cell: (row) => sweepTitle(row) },
  { id: "state", header: t`State`, cell: (row) => <Status state={row.state} /> },
  { id: "points", header: t`Points`, align: "right", cell: (row) => t`${row.measured} of ${row.levels.length}` },
  { id: "model", header: t`Model`, hideBelow: "md", cell: (row) => row.model },
  { id: "node", header: t`Node`, hideBelow: "md", cell: (row) => row.node },
  { id: "by", header: t`By`, hideBelow: "lg", cell: (row) => row.created_by },
  { id: "at", header: t`Started`, align: "right", cell: (row) => <Time at={row.created_at} /> },
];

const LABS = [
  { value: "sweep" as const, label: t`Sweep` },
  { value: "tune" as const, label: t`Tune` },
];

export function LoadTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/load" });
  const navigate = useNavigate({ from: "/endpoints/$name/load" });
  const deployment = endpoint.deployments.find((item) => item.name === search.dep) ?? endpoint.deployments[0];
  if (!deployment) {
    return (
      <Card>
        <EmptyState title={t`No deployments, so nothing to measure`} />
      </Card>
    );
  }
  const dep = deployment.name;
  return (
    <>
      <div className={toolbar["toolbar"]}>
        <Segmented
          label={t`What is measured`}
          value={search.lab ?? "sweep"}
          options={LABS}
          onChange={(lab) => void navigate({ search: lab === "tune" ? { dep, lab } : { dep }, replace: true })}
        />
        {endpoint.deployments.length > 1 ? (
          <Segmented
            label={t`Deployment`}
            value={deployment.name}
            options={endpoint.deployments.map((item) => ({ value: item.name, label: item.name }))}
            onChange={(name) => void navigate({ search: search.lab ? { dep: name, lab: search.lab } : { dep: name }, replace: true })}
          />
        ) : null}
      </div>
      {search.lab === "tune" ? (
        <Tunings
          key={dep}
          endpoint={endpoint}
          deployment={deployment}
          asked={search.tuning}
          onLook={(tuning) => void navigate({ search: { dep, lab: "tune", tuning }, replace: true })}
        />
      ) : (
        <Sweeps key={dep} deployment={deployment} />
      )}
    </>
  );
}

function Sweeps({ deployment }: { deployment: Deployment }) {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/load" });
  const navigate = useNavigate({ from: "/endpoints/$name/load" });
  const { data: sweeps, isPending } = useQuery(sweepsQuery(endpoint.name, deployment.name));
  const shown = search.sweep ?? sweeps?.[0]?.id;
  const look = (sweep: string) => void navigate({ search: { dep: deployment.name, sweep }, replace: true });
  return (
    <div className={classes["stack"]}>
      <SweepForm endpoint={endpoint} deployment={deployment} busy={sweeps?.some(isUnderWay) ?? false} onBegun={(sweep) => look(sweep.id)} />
      {shown === undefined ? null : (
        <SweepView
          key={shown}
          id={shown}
          others={sweeps ?? []}
          beside={search.beside}
          onBeside={(beside) => void navigate({ search: (old) => ({ ...old, sweep: shown, beside }), replace: true })}
        />
      )}
      <Card title={t`Sweeps`} hint={t`kept for 90 days, 50 of a deployment`} flush>
        <DataTable
          label={t`Sweeps`}
          columns={COLUMNS}
          rows={sweeps}
          rowKey={(row) => row.id}
          onOpen={(row) => look(row.id)}
          loading={isPending}
          empty={
            <EmptyState
              title={t`Nothing was measured yet`}
              detail={t`A sweep asks a replica more and more, and shows where it saturates.`}
            />
          }
        />
      </Card>
    </div>
  );
}
