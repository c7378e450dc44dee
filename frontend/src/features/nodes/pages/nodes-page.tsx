/** The machines that run models. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Checkbox } from "@mantine/core";
import { IconPlus, IconServer2 } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { NODE_STATUSES, nodePagesQuery } from "@/api/nodes";
import { useRefusal } from "@/api/permissions";
import { sessionQuery } from "@/api/session";
import type { NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { actionsColumn } from "@/components/actions-column";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { ageText, bytes } from "@/components/format";
import { HeatStrip } from "@/components/heat-strip";
import { ListFilter } from "@/components/list-filter";
import { Meter } from "@/components/meter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { RefusingLink } from "@/components/refusing-button";
import { Segmented } from "@/components/segmented";
import { ShowMore } from "@/components/show-more";
import { Chip } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { BulkBar } from "../components/bulk-bar";
import { GpuBars } from "../components/gpu-bars";
import { NodeMenu } from "../components/node-actions";
import { NodeStatus } from "../components/node-status";
import { allToggled, chosenOf, ticksOf, toggled } from "../selection";
import { share } from "../share";

function memoryOf({ info }: NodeItem): { used: number; total: number } {
  if (info.gpus.length === 0) return { used: info.memory_used_bytes, total: info.memory_total_bytes };
  return {
    used: info.gpus.reduce((sum, gpu) => sum + gpu.memory_used_bytes, 0),
    total: info.gpus.reduce((sum, gpu) => sum + gpu.memory_total_bytes, 0),
  };
}

const COLUMNS: Column<NodeItem>[] = [
  {
    id: "name",
    header: t`Name`,
    sortValue: (row) => row.name,
    cell: (row) => (
      <>
        <Link {...paths.node(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>
        <div className="secondary mono">{row.info.address}</div>
      </>
    ),
  },
  { id: "state", header: t`Status`, sortValue: (row) => row.state, cell: (row) => <NodeStatus node={row} /> },
  {
    id: "gpus",
    header: "GPUs",
    width: 150,
    hideBelow: "lg",
    sortValue: (row) => row.info.gpus.length,
    cell: (row) => <GpuBars gpus={row.info.gpus} />,
  },
  {
    id: "memory",
    header: t`Memory of GPUs, else of the machine`,
    width: 220,
    sortValue: (row) => share(memoryOf(row).used, memoryOf(row).total),
    cell: (row) => {
      const { used, total } = memoryOf(row);
      return (
        <Meter label={row.info.gpus.length > 0 ? "GPU" : "RAM"} share={share(used, total)} text={t`${bytes(used)} of ${bytes(total)}`} />
      );
    },
  },
  {
    id: "cpu",
    header: "CPU",
    width: 120,
    hideBelow: "md",
    sortValue: (row) => row.info.cpu_utilization,
    cell: (row) => (
      <Meter
        label={plural(row.info.cpu_count, { one: "# core", other: "# cores" })}
        share={row.info.cpu_utilization}
        text={`${Math.round(row.info.cpu_utilization * 100)} %`}
      />
    ),
  },
  {
    id: "disk",
    header: t`Disk free`,
    align: "right",
    hideBelow: "lg",
    sortValue: (row) => row.info.disk_free_bytes,
    cell: (row) => (row.info.disk_pressure ? <Chip tone="warn">{bytes(row.info.disk_free_bytes)}</Chip> : bytes(row.info.disk_free_bytes)),
  },
  { id: "replicas", header: t`Replicas`, align: "right", sortValue: (row) => row.replicas.length, cell: (row) => row.replicas.length },
  { id: "age", header: t`Last report`, align: "right", hideBelow: "sm", sortValue: (row) => row.age_s, cell: (row) => ageText(row.age_s) },
];

/** Only worth a column where versions differ. */
const versionColumn = (version: string): Column<NodeItem> => ({
  id: "version",
  header: t`Agent`,
  hideBelow: "md",
  cell: (row) => (row.info.agent_version === version ? row.info.agent_version : <Chip tone="warn">{row.info.agent_version}</Chip>),
});

const MENU: Column<NodeItem> = actionsColumn((row) => <NodeMenu node={row} />);

/** Only for those who may do something to what they tick. */
function tickColumn(rows: readonly NodeItem[], ticked: ReadonlySet<string>, onChange: (ticked: Set<string>) => void): Column<NodeItem> {
  const ticks = ticksOf(ticked, rows);
  return {
    id: "tick",
    width: 40,
    header: (
      <Checkbox
        size="xs"
        aria-label={t`Tick all nodes`}
        checked={ticks === "all"}
        indeterminate={ticks === "some"}
        onChange={() => onChange(allToggled(ticked, rows))}
      />
    ),
    cell: (row) => (
      <Checkbox
        size="xs"
        aria-label={t`Tick ${row.name}`}
        checked={ticked.has(row.name)}
        onChange={() => onChange(toggled(ticked, row.name))}
      />
    ),
  };
}

export function NodesPage() {
  usePageTitle(t`Nodes`);
  const open = useNavigate();
  const search = useSearch({ from: "/app/nodes" });
  const navigate = useNavigate({ from: "/nodes" });
  const refusal = useRefusal("operate");
  const version = useQuery(sessionQuery()).data?.version ?? "";
  const q = search.q ?? "";
  const status = NODE_STATUSES.find((each) => each === search.status);
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    nodePagesQuery(q.trim(), status),
  );
  const rows = data?.pages.flatMap((page) => page.items);
  const total = data?.pages[0]?.total ?? 0;
  const filtered = q.trim() !== "" || status !== undefined;
  const set = (change: Partial<typeof search>) =>
    void navigate({
      search: (old) => Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value)),
      replace: true,
    });
  const skewed = rows?.some((node) => version !== "" && node.info.agent_version !== version) ?? false;
  const [ticked, setTicked] = useState<ReadonlySet<string>>(() => new Set());
  const chosen = chosenOf(ticked, rows ?? []);
  const list = useRef<HTMLDivElement>(null);
  const untick = () => {
    setTicked(new Set());
    // The bar goes, and with it what had the focus.
    list.current?.querySelector<HTMLElement>("tbody tr")?.focus();
  };
  const columns = [
    ...(refusal ? [] : [tickColumn(rows ?? [], ticked, setTicked)]),
    ...COLUMNS,
    ...(skewed ? [versionColumn(version)] : []),
    ...(refusal ? [] : [MENU]),
  ];
  const join = (
    <RefusingLink needs="operate" link={paths.joinNode()} leftSection={<IconPlus size={16} />}>
      <Trans>Join a node</Trans>
    </RefusingLink>
  );
  return (
    <>
      <PageHeader title={t`Nodes`} actions={join} />
      {error && !data ? (
        <LoadProblem error={error} what={t`The nodes`} needs="read" onRetry={() => void refetch()} />
      ) : (
        <>
          {rows && rows.length > 0 ? (
            <Card title={t`Memory`} hint={t`of the nodes below: one cell per GPU, or per machine without one`} flush>
              <HeatStrip nodes={rows} />
            </Card>
          ) : null}
          <div className={toolbar["toolbar"]} style={{ marginTop: 12 }}>
            <ListFilter label={t`Filter nodes`} value={q} onChange={(next) => set({ q: next })} />
            <Segmented
              label={t`Status`}
              value={status ?? "all"}
              options={[
                { value: "all", label: t`All` },
                { value: "online", label: t`Online` },
                { value: "closed", label: t`Cordoned, draining` },
                { value: "lost", label: t`Not heard from` },
              ]}
              onChange={(next) => set({ status: next === "all" ? "" : next })}
            />
            <span className="secondary" role="status">
              {rows && rows.length < total
                ? t`${rows.length} of ${plural(total, { one: "# node", other: "# nodes" })}, by name`
                : plural(total, { one: "# node", other: "# nodes" })}
            </span>
          </div>
          {chosen.length > 0 ? <BulkBar chosen={chosen} onClear={untick} /> : null}
          <Card flush>
            <div ref={list}>
              <DataTable
                label={t`Nodes`}
                choose="nodes"
                columns={columns}
                rows={rows}
                rowKey={(row) => row.id}
                // Of a part of the list the fullest node is not the fullest: only all of it is sorted.
                {...(hasNextPage ? {} : { sort: search.sort, onSort: (sort: string | undefined) => set({ sort: sort ?? "" }) })}
                loading={isPending}
                onOpen={(row) => void open(paths.node(row.name))}
                onTick={refusal ? undefined : (row) => setTicked(toggled(ticked, row.name))}
                empty={
                  <EmptyState
                    icon={<IconServer2 size={34} stroke={1.3} />}
                    title={filtered ? t`No node matches the filter` : t`No node has joined yet`}
                    detail={filtered ? undefined : t`A node is a machine that runs models.`}
                    action={filtered ? undefined : join}
                  />
                }
              />
            </div>
          </Card>
          <ShowMore hasNextPage={hasNextPage} isFetchingNextPage={isFetchingNextPage} fetchNextPage={fetchNextPage} />
        </>
      )}
    </>
  );
}
