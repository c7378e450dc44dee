/** Each deployment with its replicas, and the traffic between them. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconChevronDown, IconChevronRight, IconFileText, IconPlus } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment, Endpoint, ErrorDetail, Replica } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { bytes, seconds } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { RefusingLink } from "@/components/refusing-button";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { TrafficBar } from "@/components/traffic-bar";
import { useTopic } from "@/live/hooks";
import { DecisionNote } from "../autoscaling/decision-note";
import { DeploymentMenu } from "../components/deployment-menu";
import { DeploymentName } from "../components/deployments-card";
import { MirrorRow } from "../components/mirror-row";
import { Revisions } from "../components/revisions";
import { TrafficEditor, useTrafficControl } from "../components/traffic-control";
import { useEndpoint } from "../hooks/use-endpoint";
import { RolloutCard } from "../rollout/rollout-card";
import { RoutingCard } from "../routing/routing-card";
import { splitText } from "../traffic";
import classes from "./deployments-tab.module.css";

const REPLICA_COLUMNS: Column<Replica>[] = [
  { id: "ordinal", header: t`Replica`, width: 80, cell: (row) => row.ordinal },
  { id: "state", header: t`Status`, cell: (row) => <Status state={row.state} /> },
  {
    id: "node",
    header: t`Node`,
    cell: (row) =>
      row.node ? (
        <Link {...paths.node(row.node)} className="link">
          {row.node}
        </Link>
      ) : (
        <span className="muted">
          <Trans>not placed yet</Trans>
        </span>
      ),
  },
  { id: "up", header: t`Started`, hideBelow: "md", cell: (row) => <Time at={row.started_at} /> },
  { id: "load", header: t`Loaded in`, align: "right", hideBelow: "md", cell: (row) => seconds(row.load_seconds) },
  { id: "runtime", header: t`Runtime`, hideBelow: "lg", cell: (row) => row.runtime_version || "–" },
  { id: "restarts", header: t`Restarts`, align: "right", hideBelow: "sm", cell: (row) => row.restarts },
  { id: "memory", header: t`Memory`, align: "right", cell: (row) => bytes(row.memory_bytes) },
  {
    id: "ports",
    header: t`HTTP, gRPC`,
    align: "right",
    hideBelow: "lg",
    cell: (row) => <span className="mono">{row.http_port ? `${row.http_port}, ${row.grpc_port}` : "–"}</span>,
  },
];

function Failure({ problem, title }: { problem: ErrorDetail | null; title?: string }) {
  if (!problem) return null;
  return (
    <div className={classes["failure"]}>
      <p>
        <b>{title ? `${title}: ${problem.message}` : problem.message}</b>
      </p>
      {problem.detail && problem.detail !== problem.message ? <pre className="mono">{problem.detail}</pre> : null}
      {problem.hints?.map((hint) => (
        <p key={hint}>{hint}</p>
      ))}
    </div>
  );
}

function DeploymentCard({ endpoint, deployment, all }: { endpoint: Endpoint; deployment: Deployment; all: string[] }) {
  const ready = deployment.replicas.filter((replica) => replica.state === "ready").length;
  const [history, setHistory] = useState(false);
  const failures = deployment.replicas.filter((replica) => replica.error);
  return (
    <Card
      flush
      title={<DeploymentName name={deployment.name} all={all} />}
      hint={
        <>
          <Trans>
            <Link {...paths.modelVersion(deployment.model, deployment.version)} className="link">
              {deployment.model} v{deployment.version}
            </Link>
            {deployment.config_revision ? t` · configuration ${deployment.config_revision}` : ""} · {ready} of {deployment.instance_count}{" "}
            ready · {endpoint.traffic[deployment.name] ?? 0} % of the traffic
          </Trans>
        </>
      }
      actions={
        <>
          <Status state={deployment.serving_state} />
          {deployment.operation ? (
            <LinkButton {...paths.operation(deployment.operation)} variant="default">
              <Trans>Latest operation</Trans>
            </LinkButton>
          ) : null}
          <LinkButton {...paths.endpointLogs(endpoint.name, deployment.name)} variant="default" leftSection={<IconFileText size={15} />}>
            <Trans>Logs</Trans>
          </LinkButton>
          <DeploymentMenu endpoint={endpoint} deployment={deployment} />
        </>
      }
    >
      {deployment.error ? <Failure problem={deployment.error} /> : null}
      {deployment.autoscale ? (
        <div className={classes["more"]}>
          <DecisionNote deployment={deployment} />
        </div>
      ) : null}
      <DataTable
        compact
        label={t`Replicas of ${deployment.name}`}
        columns={REPLICA_COLUMNS}
        rows={deployment.replicas}
        rowKey={(row) => row.id}
        empty={
          <p className={classes["none"]}>
            {deployment.paused
              ? t`Paused: no replicas run. Start it from the menu.`
              : deployment.serving_state === "Idle"
                ? t`Idle: no replicas run. A request wakes one, and waits meanwhile.`
                : t`No replicas run.`}
          </p>
        }
      />
      {failures.map((replica) => (
        <Failure key={replica.id} title={t`Replica ${replica.ordinal}`} problem={replica.error} />
      ))}
      <div className={classes["more"]}>
        <button type="button" className={classes["toggle"]} aria-expanded={history} onClick={() => setHistory(!history)}>
          {history ? <IconChevronDown size={15} aria-hidden /> : <IconChevronRight size={15} aria-hidden />}
          {deployment.revision ? t`Revisions, ${deployment.revision} is current` : t`Revisions`}
        </button>
      </div>
      {history ? <Revisions endpoint={endpoint.name} deployment={deployment} /> : null}
    </Card>
  );
}

export function DeploymentsTab() {
  const endpoint = useEndpoint();
  const queryClient = useQueryClient();
  const { give, share } = useSearch({ from: "/app/endpoints/$name/deployments" });
  const control = useTrafficControl(endpoint, { offer: give !== undefined && share !== undefined ? { give, share } : undefined });
  const navigate = useNavigate();
  useEffect(() => {
    // why: who reloads the page, or comes back to it, has been asked.
    if (give !== undefined) void navigate({ ...paths.endpointTab(endpoint.name, "deployments"), replace: true });
  }, [give, endpoint.name, navigate]);
  const refusal = useRefusal("deploy");
  // State frames of the endpoint keep this page current between the slow refetches.
  useTopic(`endpoint:${endpoint.name}`, (frame) => {
    if (frame.type === "state") queryClient.setQueryData(keys.endpoints.one(endpoint.name), frame.data as Endpoint);
  });
  if (endpoint.deployments.length === 0) {
    return (
      <Card>
        <EmptyState
          title={t`No deployments yet`}
          detail={t`An endpoint is a stable URL; a deployment is a model version that answers behind it.`}
          action={
            <RefusingLink needs="deploy" link={paths.deploy({ endpoint: endpoint.name })} leftSection={<IconPlus size={15} />}>
              <Trans>New deployment</Trans>
            </RefusingLink>
          }
        />
      </Card>
    );
  }
  return (
    <>
      <RolloutCard endpoint={endpoint.name} />
      <div className={classes["stack"]}>
        <Card
          title={t`Traffic`}
          hint={t`by weight, new requests only`}
          actions={
            control.names.length > 1 ? (
              <>
                {control.changed ? (
                  <Button variant="subtle" color="gray" onClick={control.reset}>
                    <Trans>Reset</Trans>
                  </Button>
                ) : null}
                <Button onClick={control.apply} disabled={!control.changed || !control.valid || refusal !== undefined} title={refusal}>
                  <Trans>Apply {splitText(control.draft, control.names)}</Trans>
                </Button>
              </>
            ) : undefined
          }
        >
          <TrafficBar traffic={control.draft} />
          <TrafficEditor control={control} />
          <MirrorRow endpoint={endpoint} />
        </Card>
        <RoutingCard endpoint={endpoint} />
        {endpoint.deployments.map((deployment) => (
          <DeploymentCard key={deployment.name} endpoint={endpoint} deployment={deployment} all={control.names} />
        ))}
        {control.dialog}
      </div>
    </>
  );
}
