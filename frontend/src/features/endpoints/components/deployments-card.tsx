/** The deployments of an endpoint in short, with the traffic between them. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import type { Deployment, Endpoint } from "@/api/types";
import { actionsColumn } from "@/components/actions-column";
import { Card } from "@/components/card";
import { deploymentStyles, PLAIN } from "@/components/charts/palette";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { RefusingButton, RefusingLink } from "@/components/refusing-button";
import { Status } from "@/components/status";
import { TrafficBar } from "@/components/traffic-bar";
import type { Series } from "@/live/series";
import { METRICS } from "@/metrics/registry";
import { DecisionNote, isStuck } from "../autoscaling/decision-note";
import { splitText } from "../traffic";
import classes from "./deployments-card.module.css";
import { DeploymentMenu } from "./deployment-menu";
import { LiveValue } from "./live-value";
import { TrafficEditor, useTrafficControl } from "./traffic-control";

function nodesOf(deployment: Deployment): string {
  const names = [...new Set(deployment.replicas.map((replica) => replica.node).filter((node) => node !== ""))];
  return names.length > 0 ? names.join(", ") : "–";
}

/** A deployment's name with its colour in the charts. */
export function DeploymentName({ name, all }: { name: string; all: readonly string[] }) {
  const style = deploymentStyles(all).get(name) ?? PLAIN;
  return (
    <span className={classes["name"]}>
      <i style={{ background: `var(--${style.color})` }} data-round={style.dash ? "" : undefined} aria-hidden />
      {name}
    </span>
  );
}

/** With `series`, how fast each is now. */
export function DeploymentsCard({ endpoint, series }: { endpoint: Endpoint; series?: Series }) {
  const control = useTrafficControl(endpoint);
  const columns: Column<Deployment>[] = [
    { id: "name", header: t`Deployment`, cell: (row) => <DeploymentName name={row.name} all={control.names} /> },
    {
      id: "model",
      header: t`Model`,
      cell: (row) => (
        <Link {...paths.modelVersion(row.model, row.version)} className="link">
          {row.model}
          {"\u00a0"}
          <span className="muted">v{row.version}</span>
        </Link>
      ),
    },
    {
      id: "status",
      header: t`Status`,
      cell: (row) => <Status state={row.serving_state} {...(row.error ? { title: row.error.message } : {})} />,
    },
    { id: "placement", header: t`Placement`, hideBelow: "md", cell: (row) => nodesOf(row) },
    {
      id: "instances",
      header: t`Instances`,
      align: "right",
      cell: (row) => `${row.replicas.filter((replica) => replica.state === "ready").length} / ${row.instance_count}`,
    },
    ...(series
      ? [
          {
            id: "p95",
            header: METRICS.p95_us.label,
            align: "right" as const,
            cell: (row: Deployment) => <LiveValue series={series} metric="p95_us" scope={row.name} />,
          },
        ]
      : []),
    { id: "traffic", header: t`Traffic`, align: "right", cell: (row) => `${endpoint.traffic[row.name] ?? 0}\u00a0%` },
    actionsColumn((row) => <DeploymentMenu endpoint={endpoint} deployment={row} />, 40),
  ];
  const editable = endpoint.deployments.length > 1;
  return (
    <Card
      title={t`Deployments`}
      hint={t`traffic by weight, new requests only`}
      flush
      actions={
        editable ? (
          <>
            {control.changed ? (
              <Button variant="subtle" color="gray" onClick={control.reset}>
                <Trans>Reset</Trans>
              </Button>
            ) : null}
            <RefusingButton needs="deploy" onClick={control.apply} disabled={!control.changed || !control.valid}>
              <Trans>Apply {splitText(control.draft, control.names)}</Trans>
            </RefusingButton>
          </>
        ) : undefined
      }
    >
      {endpoint.deployments.length === 0 ? (
        <EmptyState
          title={t`No deployments yet`}
          detail={t`An endpoint is a stable URL; a deployment is a model version that answers behind it.`}
          action={
            <RefusingLink needs="deploy" link={paths.deploy({ endpoint: endpoint.name })}>
              <Trans>Deploy a model here</Trans>
            </RefusingLink>
          }
        />
      ) : (
        <>
          <div className={classes["traffic"]}>
            <TrafficBar traffic={control.draft} />
            <TrafficEditor control={control} />
          </div>
          {endpoint.deployments.filter(isStuck).map((one) => (
            <div key={one.name} className={classes["traffic"]}>
              <DecisionNote deployment={one} />
            </div>
          ))}
          <DataTable label={t`Deployments`} columns={columns} rows={endpoint.deployments} rowKey={(row) => row.name} />
        </>
      )}
      {control.dialog}
    </Card>
  );
}
