/** Every change that took a while, newest first; what it is filtered by lives in the address. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type OperationFilter, operationPagesQuery } from "@/api/operations";
import type { Operation } from "@/api/types";
import { paths } from "@/app/paths";
import { OPERATION_KINDS, OPERATION_STATES, type operationsSearch } from "@/app/search";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { elapsed } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { currentStage, KIND_WORDS, operationTitle } from "@/components/operation-titles";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { Segmented } from "@/components/segmented";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { whenBounds } from "@/components/when";
import { WhenFilter, WhoFilter } from "@/components/when-filter";

const COLUMNS: Column<Operation>[] = [
  {
    id: "what",
    header: t`Operation`,
    cell: (row) => (
      <>
        <Link {...paths.operation(row.id)} style={{ fontWeight: 600 }}>
          {operationTitle(row)}
        </Link>
        {row.error ? <div className="secondary truncate">{row.error.message}</div> : null}
      </>
    ),
  },
  { id: "state", header: t`Status`, width: 130, cell: (row) => <Status state={row.state} /> },
  { id: "stage", header: t`Stage`, hideBelow: "md", cell: (row) => currentStage(row) || <span className="muted">–</span> },
  { id: "took", header: t`Took`, align: "right", width: 90, hideBelow: "sm", cell: (row) => elapsed(row.created_at, row.finished_at) },
  { id: "when", header: t`Started`, width: 150, cell: (row) => <Time at={row.created_at} /> },
  { id: "by", header: t`By`, width: 120, hideBelow: "sm", cell: (row) => row.created_by },
];

const STATE_WORDS: Record<string, string> = {
  All: t`All`,
  Queued: t`Queued`,
  Running: t`Running`,
  Succeeded: t`Succeeded`,
  Failed: t`Failed`,
  Canceled: t`Canceled`,
};
const STATES = ["All", ...OPERATION_STATES].map((value) => ({ value, label: STATE_WORDS[value] ?? value }));
const KINDS = OPERATION_KINDS.map((value) => ({ value, label: KIND_WORDS[value] }));

function useOperations({ status, when, ...rest }: ReturnType<typeof operationsSearch>) {
  // why not at each render: "the last hour" would be another question each time.
  const bounds = useMemo(() => whenBounds(when), [when]);
  const filter: OperationFilter = { ...rest, ...bounds, ...(status ? { state: status } : {}) };
  return useInfiniteQuery({ ...operationPagesQuery(filter), placeholderData: keepPreviousData, refetchInterval: 5_000 });
}

export function OperationsPage() {
  usePageTitle(t`Operations`);
  const search = useSearch({ from: "/app/operations" });
  const navigate = useNavigate({ from: "/operations" });
  const open = useNavigate();
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useOperations(search);
  const rows = data?.pages.flatMap((page) => page.items);
  const set = (change: Partial<Record<keyof typeof search, string | undefined>>) =>
    void navigate({
      search: (old) => Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value)),
      replace: true,
    });
  return (
    <>
      <PageHeader title={t`Operations`} subtitle={t`Every change that took a while, with its stages`} />
      <div className={toolbar["toolbar"]}>
        <ListFilter label={t`Filter operations`} value={search.q ?? ""} onChange={(q) => set({ q })} />
        <Segmented
          label={t`Status`}
          value={search.status ?? "All"}
          options={STATES}
          onChange={(value) => set({ status: value === "All" ? undefined : value })}
        />
        <Select
          aria-label={t`Kind`}
          placeholder={t`Any kind`}
          w={170}
          clearable
          data={KINDS}
          value={search.kind ?? null}
          onChange={(kind) => set({ kind: kind ?? undefined })}
        />
        <WhoFilter value={search.actor} names={rows?.map((row) => row.created_by) ?? []} onChange={(actor) => set({ actor })} />
        <WhenFilter value={search.when} onChange={(when) => set({ when })} />
      </div>
      {error && !data ? (
        <LoadProblem error={error} what={t`The operations`} needs="read" onRetry={() => void refetch()} />
      ) : (
        <Card flush>
          <DataTable
            label={t`Operations`}
            columns={COLUMNS}
            choose="operations"
            rows={rows}
            rowKey={(row) => row.id}
            loading={isPending}
            onOpen={(row) => void open(paths.operation(row.id))}
            empty={
              <EmptyState
                icon={<IconHistory size={34} stroke={1.3} />}
                title={Object.keys(search).length > 0 ? t`No operation matches the filter` : t`No operations yet`}
              />
            }
          />
          {hasNextPage ? (
            <div className={toolbar["more"]}>
              <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                <Trans>Older</Trans>
              </Button>
            </div>
          ) : null}
        </Card>
      )}
    </>
  );
}
