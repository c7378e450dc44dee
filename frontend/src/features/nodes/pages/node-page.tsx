/** One node: what it has, what it runs, and taking it out of service. */
import { Button } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { cordonNode, deleteNode, nodeQuery, uncordonNode } from "@/api/nodes";
import { eventsQuery } from "@/api/operations";
import { toProblem } from "@/api/problem";
import type { NodeItem, Replica } from "@/api/types";
import { paths } from "@/app/paths";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { EventList } from "@/components/event-list";
import { ageText, bytes, percent } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { Meter } from "@/components/meter";
import { notifyDone, notifyProblem } from "@/components/notify";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { cordonRecipe } from "../recipes";
import { share } from "../share";
import classes from "./node-page.module.css";

const REPLICAS: Column<Replica>[] = [
  {
    id: "endpoint",
    header: "Endpoint",
    cell: (row) => (
      <Link {...paths.endpointTab(row.endpoint, "deployments")} className="link">
        {row.endpoint} / {row.deployment}
      </Link>
    ),
  },
  { id: "ordinal", header: "Replica", align: "right", width: 70, cell: (row) => row.ordinal },
  { id: "state", header: "Status", cell: (row) => <Status state={row.state} {...(row.error ? { title: row.error.message } : {})} /> },
  { id: "memory", header: "Memory", align: "right", cell: (row) => bytes(row.memory_bytes) },
  { id: "restarts", header: "Restarts", align: "right", hideBelow: "sm", cell: (row) => row.restarts },
  { id: "started", header: "Started", hideBelow: "md", cell: (row) => <Time at={row.started_at} /> },
];

function Resources({ node }: { node: NodeItem }) {
  const { info } = node;
  return (
    <Card title="Resources">
      <div className={classes["meters"]}>
        <Meter label={`CPU, ${info.cpu_count} cores`} share={info.cpu_utilization} text={percent(info.cpu_utilization)} />
        <Meter
          label="Memory"
          share={share(info.memory_used_bytes, info.memory_total_bytes)}
          text={`${bytes(info.memory_used_bytes)} of ${bytes(info.memory_total_bytes)}`}
        />
        <Meter
          label="Disk"
          share={share(info.disk_total_bytes - info.disk_free_bytes, info.disk_total_bytes)}
          text={`${bytes(info.disk_free_bytes)} free of ${bytes(info.disk_total_bytes)}`}
        />
        {info.gpus.map((gpu) => (
          <Meter
            key={gpu.uuid}
            label={`GPU ${gpu.index}, ${gpu.name}`}
            share={share(gpu.memory_used_bytes, gpu.memory_total_bytes)}
            text={`${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_total_bytes)}, ${percent(gpu.utilization)} busy`}
          />
        ))}
      </div>
      <dl className={classes["facts"]}>
        <div>
          <dt>Address</dt>
          <dd className="mono">{info.address}</dd>
        </div>
        <div>
          <dt>Agent</dt>
          <dd>{info.agent_version}</dd>
        </div>
        <div>
          <dt>Backends</dt>
          <dd className="mono">{info.backends.join(", ") || "–"}</dd>
        </div>
        <div>
          <dt>Model cache</dt>
          <dd>{bytes(info.cache_bytes)}</dd>
        </div>
        <div>
          <dt>Last report</dt>
          <dd>{ageText(node.age_s)}</dd>
        </div>
      </dl>
    </Card>
  );
}

function Actions({ node }: { node: NodeItem }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [removing, setRemoving] = useState(false);
  const toggle = useMutation({
    mutationFn: () => (node.cordoned ? uncordonNode(node.name) : cordonNode(node.name)),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.nodes.all });
      notifyDone(node.cordoned ? `${node.name} takes new replicas again` : `${node.name} takes nothing new`);
    },
    onError: (error) => notifyProblem(error, `${node.name} could not be changed`),
  });
  return (
    <>
      <AsCodeButton recipe={() => cordonRecipe(node.name, node.cordoned ? "uncordon" : "cordon")} />
      <Button
        variant="default"
        leftSection={node.cordoned ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
        loading={toggle.isPending}
        onClick={() => toggle.mutate()}
      >
        {node.cordoned ? "Uncordon" : "Cordon"}
      </Button>
      <Button variant="default" leftSection={<IconTrash size={15} />} onClick={() => setRemoving(true)}>
        Remove
      </Button>
      <ConfirmModal
        opened={removing}
        onClose={() => setRemoving(false)}
        title={`Remove ${node.name}`}
        confirmLabel={`Remove ${node.name}`}
        danger
        typeToConfirm={node.replicas.length > 0 ? node.name : undefined}
        onConfirm={async () => {
          await deleteNode(node.name);
          await queryClient.invalidateQueries({ queryKey: keys.nodes.all });
          notifyDone(`${node.name} is removed`);
          await navigate(paths.nodes());
        }}
      >
        <p>Its credential stops working. To come back it must join again with a new token.</p>
        {node.replicas.length > 0 ? <p>It runs {node.replicas.length} replicas.</p> : null}
      </ConfirmModal>
    </>
  );
}

export function NodePage() {
  const { name } = useParams({ from: "/app/nodes/$name" });
  usePageTitle(name, "Nodes");
  const { data: node, error, refetch } = useQuery(nodeQuery(name));
  const events = useQuery(eventsQuery(`node/${name}`, 8));
  if (!node) {
    return (
      <>
        <PageHeader title={name} />
        {error && toProblem(error).status === 404 ? (
          <EmptyState
            title={`There is no node ${name}`}
            action={
              <LinkButton {...paths.nodes()} variant="default">
                All nodes
              </LinkButton>
            }
          />
        ) : null}
        {error && toProblem(error).status !== 404 ? (
          <ProblemCard error={error} title="The node could not be loaded" onRetry={() => void refetch()} />
        ) : null}
        {error ? null : <SkeletonRows label="Loading the node" />}
      </>
    );
  }
  return (
    <>
      <PageHeader
        title={node.name}
        beside={
          <>
            <Status state={node.state} />
            {node.cordoned ? <Status state="cordoned" tone="warn" title="It keeps what it runs but takes nothing new" /> : null}
          </>
        }
        actions={<Actions node={node} />}
      />
      <div className={classes["grid"]}>
        <div className={classes["stack"]}>
          <Card title="Replicas" hint={`${node.replicas.length}`} flush>
            <DataTable
              label="Replicas"
              columns={REPLICAS}
              rows={node.replicas}
              rowKey={(row) => row.id}
              empty={<EmptyState title="Nothing runs here" />}
            />
          </Card>
          <Card title="Recent events" flush>
            {events.data && events.data.items.length > 0 ? (
              <EventList events={events.data.items} />
            ) : (
              <p className={classes["none"]}>Nothing has happened yet</p>
            )}
          </Card>
        </div>
        <Resources node={node} />
      </div>
    </>
  );
}
