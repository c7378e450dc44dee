/** Who did what, when: the audit log, filtered by the address. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select } from "@mantine/core";
import { IconDownload, IconListDetails } from "@tabler/icons-react";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { activityQuery, type EventFilter, EXPORT_LIMIT, exportAddress, readAll } from "@/api/activity";
import { useRefusal, useSeesInstallation } from "@/api/permissions";
import type { EventItem } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { downloadFile } from "@/components/download";
import { EmptyState } from "@/components/empty-state";
import { EventMark } from "@/components/event-mark";
import { LoadProblem } from "@/components/forbidden";
import { count, zonedTime } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { notifyDone, notifyProblem } from "@/components/notify";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { Segmented } from "@/components/segmented";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { WhenFilter, WhoFilter } from "@/components/when-filter";
import { whenBounds } from "@/components/when";
import { useEvents } from "@/live/hooks";
import { EventDrawer } from "../components/event-drawer";
import { VerifyLog } from "../components/verify-log";
import { eventsCsv } from "../csv";
import classes from "./activity-page.module.css";

const OF_PROJECTS = [
  { value: "endpoint", label: t`endpoint` },
  { value: "model", label: t`model` },
  { value: "environment", label: t`environment` },
];
const KINDS = [
  ...OF_PROJECTS,
  { value: "node", label: t`node` },
  { value: "nodes", label: t`nodes` },
  { value: "user", label: t`user` },
  { value: "upload", label: t`upload` },
  { value: "instance-type", label: t`instance-type` },
  { value: "storage", label: t`storage` },
];
const SEVERITIES = [
  { value: "all", label: t`All` },
  { value: "warning", label: t`Warnings` },
  { value: "error", label: t`Errors` },
] as const;

const COLUMNS: Column<EventItem>[] = [
  {
    id: "when",
    header: t`When`,
    width: 136,
    cell: (row) => (
      <span style={{ whiteSpace: "nowrap" }} title={zonedTime(row.at)}>
        <Time at={row.at} />
      </span>
    ),
  },
  {
    id: "what",
    header: t`What happened`,
    cell: (row) => (
      <span className={classes["what"]}>
        <span>
          <EventMark event={row} />
        </span>
        <span>{row.message}</span>
      </span>
    ),
  },
  { id: "verb", header: t`Kind`, width: 190, hideBelow: "md", cell: (row) => <Chip mono>{row.verb}</Chip> },
  { id: "subject", header: t`About`, width: 200, hideBelow: "lg", cell: (row) => <span className="muted">{row.subject}</span> },
  { id: "actor", header: t`By`, width: 120, hideBelow: "sm", cell: (row) => row.actor },
];

function fileName() {
  return `shoal-activity-${new Date().toISOString().slice(0, 10)}.csv`;
}

export function ActivityPage() {
  usePageTitle(t`Activity`);
  const search = useSearch({ from: "/app/activity" });
  const navigate = useNavigate({ from: "/activity" });
  const queryClient = useQueryClient();
  const mayReadPeople = useRefusal("administer") === undefined;
  const all = useSeesInstallation();
  const kinds = all ? KINDS.filter(({ value }) => mayReadPeople || value !== "user") : OF_PROJECTS;
  const { event: chosen, when, ...filter } = search;
  // why not at each render: "the last hour" would be another question each time.
  const bounds = useMemo(() => whenBounds(when), [when]);
  const wanted: EventFilter = { ...filter, ...bounds };
  const query = activityQuery(wanted);
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(query);
  useEvents(() => void queryClient.invalidateQueries({ queryKey: query.queryKey }));
  const rows = data?.pages.flatMap((page) => page.items);
  const set = (change: Partial<typeof search>) =>
    void navigate({
      search: (old) => Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value)),
      replace: true,
    });
  const save = useMutation({
    mutationFn: () => readAll(wanted),
    onSuccess: ({ events, complete }) => {
      downloadFile(fileName(), "text/csv", eventsCsv(events));
      notifyDone(
        complete
          ? plural(events.length, { one: "# event saved", other: "# events saved" })
          : t`The newest ${count(EXPORT_LIMIT)} events saved; narrow the filter for older ones`,
      );
    },
    onError: (problem) => notifyProblem(problem, t`The events could not be saved`),
  });
  const mayNotExport = useRefusal("operate") !== undefined;
  const filtered = Object.values(filter).some(Boolean) || when !== undefined;
  return (
    <>
      <PageHeader
        title={t`Activity`}
        subtitle={t`Everything that changed, who changed it, and what failed`}
        actions={
          <>
            <VerifyLog />
            {mayNotExport ? (
              <Button variant="default" leftSection={<IconDownload size={15} />} loading={save.isPending} onClick={() => save.mutate()}>
                <Trans>Export CSV</Trans>
              </Button>
            ) : (
              <Button component="a" href={exportAddress(wanted)} download variant="default" leftSection={<IconDownload size={15} />}>
                <Trans>Export CSV</Trans>
              </Button>
            )}
          </>
        }
      />
      <div className={toolbar["toolbar"]}>
        <ListFilter label={t`Filter activity`} value={filter.q ?? ""} onChange={(q) => set({ q })} />
        <Select
          aria-label={t`About`}
          placeholder={t`About anything`}
          w={160}
          clearable
          data={kinds}
          value={filter.kind ?? null}
          onChange={(kind) => set({ kind: kind ?? "" })}
        />
        <Segmented
          label={t`Severity`}
          value={filter.severity ?? "all"}
          options={SEVERITIES}
          onChange={(value) => set({ severity: value === "all" ? undefined : (value as "warning" | "error") })}
        />
        <WhoFilter value={filter.actor} names={rows?.map((row) => row.actor) ?? []} onChange={(actor) => set({ actor })} />
        <WhenFilter value={when} onChange={(next) => set({ when: next })} />
        {filter.subject ? (
          <Button variant="light" onClick={() => set({ subject: "" })}>
            {filter.subject} ×
          </Button>
        ) : null}
      </div>
      {error && !data ? (
        <LoadProblem error={error} what={t`The activity`} needs="read" onRetry={() => void refetch()} />
      ) : (
        <Card flush>
          <DataTable
            label={t`Activity`}
            columns={COLUMNS}
            choose="activity"
            rows={rows}
            rowKey={(row) => String(row.seq)}
            loading={isPending}
            compact
            onOpen={(row) => set({ event: row.seq })}
            empty={
              <EmptyState
                icon={<IconListDetails size={30} stroke={1.4} />}
                title={filtered ? t`Nothing matches the filter` : t`Nothing has happened yet`}
              />
            }
          />
          {hasNextPage ? (
            <div className={classes["more"]}>
              <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                <Trans>Older</Trans>
              </Button>
            </div>
          ) : null}
        </Card>
      )}
      <EventDrawer event={rows?.find((row) => row.seq === chosen)} onClose={() => set({ event: undefined })} />
    </>
  );
}
