/** Every change that took a while, newest first. */
import { IconHistory } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { operationsQuery } from "@/api/operations";
import type { Operation } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { elapsed } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { currentStage, operationTitle } from "@/components/operation-words";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";

const LATEST = 200;
const STATES = ["Running", "Succeeded", "Failed", "Canceled"] as const;

const COLUMNS: Column<Operation>[] = [
  {
    id: "what",
    header: "Operation",
    cell: (row) => (
      <>
        <Link {...paths.operation(row.id)} style={{ fontWeight: 600 }}>
          {operationTitle(row)}
        </Link>
        {row.error ? <div className="secondary truncate">{row.error.message}</div> : null}
      </>
    ),
  },
  { id: "state", header: "Status", width: 130, cell: (row) => <Status state={row.state} /> },
  { id: "stage", header: "Stage", hideBelow: "md", cell: (row) => currentStage(row) || <span className="muted">–</span> },
  { id: "took", header: "Took", align: "right", width: 90, cell: (row) => elapsed(row.created_at, row.finished_at) },
  { id: "when", header: "Started", width: 130, cell: (row) => <Time at={row.created_at} /> },
  { id: "by", header: "By", width: 120, hideBelow: "sm", cell: (row) => row.created_by },
];

export function OperationsPage() {
  usePageTitle("Operations");
  const search = useSearch({ from: "/app/operations" });
  const navigate = useNavigate({ from: "/operations" });
  const open = useNavigate();
  const { data, error, isPending, refetch } = useQuery({
    ...operationsQuery({ state: STATES.find((state) => state === search.status), limit: LATEST }),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  });
  const needle = (search.q ?? "").trim().toLowerCase();
  const rows = data?.items.filter(
    (item) => operationTitle(item).toLowerCase().includes(needle) && (!search.status || item.state === search.status),
  );
  return (
    <>
      <PageHeader title="Operations" />
      {error && !data ? (
        <ProblemCard error={error} title="The operations could not be loaded" onRetry={() => void refetch()} />
      ) : (
        <>
          <div className={toolbar["toolbar"]}>
            <ListFilter
              label="Filter operations"
              value={search.q ?? ""}
              onChange={(q) => void navigate({ search: (old) => ({ ...old, q: q || undefined }), replace: true })}
            />
            <Segmented
              label="Status"
              value={search.status ?? "All"}
              options={["All", ...STATES].map((value) => ({ value, label: value }))}
              onChange={(value) =>
                void navigate({ search: (old) => ({ ...old, status: value === "All" ? undefined : value }), replace: true })
              }
            />
          </div>
          <Card flush>
            <DataTable
              label="Operations"
              columns={COLUMNS}
              rows={rows}
              rowKey={(row) => row.id}
              loading={isPending}
              onOpen={(row) => void open(paths.operation(row.id))}
              empty={
                <EmptyState
                  icon={<IconHistory size={34} stroke={1.3} />}
                  title={data && data.items.length > 0 ? "No operation matches the filter" : "No operations yet"}
                />
              }
            />
          </Card>
          {data?.next_cursor ? (
            <p className="secondary">
              The latest {LATEST} are shown. <Link {...paths.activity()}>Activity</Link> goes further back.
            </p>
          ) : null}
        </>
      )}
    </>
  );
}
