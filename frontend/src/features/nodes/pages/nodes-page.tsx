/** The machines that run models. */
import { IconPlus, IconServer2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { nodesQuery } from "@/api/nodes";
import type { NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ageText, bytes } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { Meter } from "@/components/meter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { Chip, Status } from "@/components/status";
import { share } from "../share";

const COLUMNS: Column<NodeItem>[] = [
  {
    id: "name",
    header: "Name",
    cell: (row) => (
      <>
        <Link {...paths.node(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>
        <div className="secondary mono">{row.info.address}</div>
      </>
    ),
  },
  {
    id: "state",
    header: "Status",
    cell: (row) => (
      <span style={{ display: "inline-flex", gap: 6 }}>
        <Status state={row.state} />
        {row.cordoned ? <Status state="cordoned" tone="warn" /> : null}
      </span>
    ),
  },
  {
    id: "cpu",
    header: "CPU",
    width: 150,
    hideBelow: "md",
    cell: (row) => <Meter label={`${row.info.cpu_count} cores`} share={row.info.cpu_utilization} text={`${Math.round(row.info.cpu_utilization * 100)} %`} />,
  },
  {
    id: "memory",
    header: "Memory",
    width: 210,
    cell: (row) => (
      <Meter
        label="used"
        share={share(row.info.memory_used_bytes, row.info.memory_total_bytes)}
        text={`${bytes(row.info.memory_used_bytes)} of ${bytes(row.info.memory_total_bytes)}`}
      />
    ),
  },
  {
    id: "gpus",
    header: "GPUs",
    hideBelow: "lg",
    cell: (row) => (row.info.gpus.length > 0 ? `${row.info.gpus.length} × ${row.info.gpus[0]?.name ?? ""}` : <span className="muted">none</span>),
  },
  { id: "replicas", header: "Replicas", align: "right", cell: (row) => row.replicas.length },
  {
    id: "backends",
    header: "Backends",
    hideBelow: "lg",
    cell: (row) =>
      row.info.backends.map((backend) => (
        <Chip key={backend} mono>
          {backend}
        </Chip>
      )),
  },
  { id: "age", header: "Last report", align: "right", hideBelow: "sm", cell: (row) => (ageText(row.age_s)) },
];

export function NodesPage() {
  usePageTitle("Nodes");
  const open = useNavigate();
  const { data, error, isPending, refetch } = useQuery(nodesQuery());
  const join = (
    <LinkButton {...paths.joinNode()} leftSection={<IconPlus size={16} />}>
      Join a node
    </LinkButton>
  );
  return (
    <>
      <PageHeader title="Nodes" actions={join} />
      {error && !data ? (
        <ProblemCard error={error} title="The nodes could not be loaded" onRetry={() => void refetch()} />
      ) : (
        <Card flush>
          <DataTable
            label="Nodes"
            columns={COLUMNS}
            rows={data?.items}
            rowKey={(row) => row.id}
            loading={isPending}
            onOpen={(row) => void open(paths.node(row.name))}
            empty={
              <EmptyState
                icon={<IconServer2 size={34} stroke={1.3} />}
                title="No node has joined yet"
                detail="A node is a machine that runs models. One command joins it."
                action={join}
              />
            }
          />
        </Card>
      )}
    </>
  );
}
