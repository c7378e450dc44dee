/** Every node with what of it is used, promised and idle; those that are ticked are thought of as lost. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Checkbox } from "@mantine/core";
import { IconServer2 } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { capacityNodesQuery } from "@/api/capacity";
import type { CapacityNode } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { bytes, percent, significant } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { ShowMore } from "@/components/show-more";
import { Chip } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import classes from "./capacity.module.css";
import { Legend, UseBar } from "./use-bar";
import { WhatIf } from "./what-if";

const COLUMNS: Column<CapacityNode>[] = [
  {
    id: "name",
    header: t`Node`,
    cell: (row) => (
      <>
        <Link {...paths.node(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>{" "}
        {row.online ? null : (
          <Chip tone="warn">
            <Trans>not heard of</Trans>
          </Chip>
        )}{" "}
        {row.cordoned ? (
          <Chip>
            <Trans>cordoned</Trans>
          </Chip>
        ) : null}
      </>
    ),
  },
  { id: "replicas", header: t`Replicas`, align: "right", hideBelow: "sm", cell: (row) => row.replicas },
  { id: "idle", header: t({ message: "Idle", context: "of a node" }), align: "right", hideBelow: "sm", cell: (row) => percent(row.idle) },
  {
    id: "computing",
    header: t`Processors and GPUs`,
    cell: (row) => (
      <div className={classes["bars"]}>
        <UseBar label="CPU" amount={row.processors} show={significant} />
        {row.gpus.total > 0 ? <UseBar label="GPU" amount={row.gpus} show={significant} /> : null}
      </div>
    ),
  },
  {
    id: "memory",
    header: t`Memory`,
    hideBelow: "md",
    cell: (row) => (
      <div className={classes["bars"]}>
        <UseBar label="RAM" amount={row.memory} show={bytes} />
        {row.gpu_memory.total > 0 ? <UseBar label="GPU" amount={row.gpu_memory} show={bytes} /> : null}
      </div>
    ),
  },
];

function toggled(names: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(names);
  if (!next.delete(name)) next.add(name);
  return next;
}

export function NodesCard() {
  const [q, setQ] = useState("");
  const [lost, setLost] = useState<ReadonlySet<string>>(() => new Set());
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    capacityNodesQuery(q.trim()),
  );
  const rows = data?.pages.flatMap((page) => page.items);
  const total = data?.pages[0]?.total ?? 0;
  const tick: Column<CapacityNode> = {
    id: "lost",
    header: t`If lost`,
    width: 60,
    cell: (row) => (
      <Checkbox
        size="xs"
        aria-label={t`What if ${row.name} were lost`}
        checked={lost.has(row.name)}
        onChange={() => setLost(toggled(lost, row.name))}
      />
    ),
  };
  if (error && !data) return <LoadProblem error={error} what={t`The nodes`} needs="read" onRetry={() => void refetch()} />;
  return (
    <Card title={t`Nodes`} hint={t`the idlest first; tick some to see what their loss would do`} actions={<Legend />} flush>
      <div className={toolbar["toolbar"]} style={{ padding: "0 12px" }}>
        <ListFilter label={t`Filter nodes`} value={q} onChange={setQ} />
        <span className="secondary" role="status">
          {rows && rows.length < total
            ? t`${rows.length} of ${plural(total, { one: "# node", other: "# nodes" })}`
            : plural(total, { one: "# node", other: "# nodes" })}
        </span>
      </div>
      {lost.size > 0 ? <WhatIf lost={[...lost].sort()} onClear={() => setLost(new Set())} /> : null}
      <DataTable
        label={t`Capacity of nodes`}
        columns={[tick, ...COLUMNS]}
        rows={rows}
        rowKey={(row) => row.name}
        loading={isPending}
        empty={
          <EmptyState
            icon={<IconServer2 size={30} stroke={1.4} />}
            title={q.trim() ? t`No node matches the filter` : t`No node has joined yet`}
          />
        }
      />
      <ShowMore hasNextPage={hasNextPage} isFetchingNextPage={isFetchingNextPage} fetchNextPage={fetchNextPage} inset />
    </Card>
  );
}
