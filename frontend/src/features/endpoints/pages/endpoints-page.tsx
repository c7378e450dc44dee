/** Every endpoint: what it serves, how it does, where the traffic goes. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconApi, IconRocket } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { endpointPagesQuery, SERVINGS } from "@/api/endpoints";
import type { Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { useChosenProject } from "@/components/chosen-project";
import { CopyButton } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ProjectSwitcher } from "@/components/project-switcher";
import { type LiveFigures, liveColumns } from "@/components/live-columns";
import { ListFilter } from "@/components/list-filter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { Segmented } from "@/components/segmented";
import { ShowMore } from "@/components/show-more";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { TrafficBar } from "@/components/traffic-bar";

interface Filters {
  q?: string | undefined;
  status?: string | undefined;
  sort?: string | undefined;
}
type Live = Readonly<Record<string, LiveFigures>>;

const modelText = (row: Endpoint) => row.models.map((item) => `${item.name} v${item.version}`).join(", ");

const columnsOf = (live: Live): Column<Endpoint>[] => [
  {
    id: "name",
    header: t`Name`,
    sortValue: (row) => row.name,
    cell: (row) => (
      <>
        <Link {...paths.endpoint(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>
        {row.description ? <div className="secondary truncate">{row.description}</div> : null}
      </>
    ),
  },
  { id: "status", header: t`Status`, sortValue: (row) => row.serving_state, cell: (row) => <Status state={row.serving_state} /> },
  { id: "project", header: t`Project`, hideBelow: "lg", sortValue: (row) => row.project, cell: (row) => row.project },
  {
    id: "models",
    header: t`Models`,
    hideBelow: "md",
    cell: (row) =>
      modelText(row) || (
        <span className="muted">
          <Trans>none</Trans>
        </span>
      ),
  },
  ...liveColumns<Endpoint>((row) => live[row.name]),
  {
    id: "deployments",
    hideBelow: "lg",
    header: t`Deployments`,
    align: "right",
    sortValue: (row) => row.deployments.length,
    cell: (row) => row.deployments.length,
  },
  { id: "traffic", header: t`Traffic`, width: 170, hideBelow: "sm", cell: (row) => <TrafficBar thin traffic={row.traffic} /> },
  { id: "updated", header: t`Updated`, hideBelow: "lg", sortValue: (row) => row.updated_at, cell: (row) => <Time at={row.updated_at} /> },
  {
    id: "copy",
    header: (
      <span className="sr-only">
        <Trans>Scoring URL</Trans>
      </span>
    ),
    width: 44,
    cell: (row) => <CopyButton text={row.scoring_uri} label={t`scoring URL of ${row.name}`} />,
  },
];

export function EndpointsPage() {
  usePageTitle(t`Endpoints`);
  const search: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const project = useChosenProject();
  const q = search.q ?? "";
  const serving = SERVINGS.find((each) => each === search.status);
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    endpointPagesQuery(q.trim(), serving, project ?? ""),
  );
  const rows = data?.pages.flatMap((page) => page.items);
  const total = data?.pages[0]?.total ?? 0;
  const live: Live = Object.assign({}, ...(data?.pages.map((page) => page.live) ?? []));
  const filtered = q.trim() !== "" || serving !== undefined;
  const set = (change: Filters) =>
    void navigate({
      to: ".",
      search: (old: Filters) => Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value)),
      replace: true,
    });
  const deployButton = (
    <RefusingLink needs="deploy" link={paths.deploy()} leftSection={<IconRocket size={16} />}>
      <Trans>Deploy a model</Trans>
    </RefusingLink>
  );
  return (
    <>
      <PageHeader title={t`Endpoints`} actions={deployButton} />
      {error && !data ? <ProblemCard error={error} title={t`The endpoints could not be loaded`} onRetry={() => void refetch()} /> : null}
      {rows && (rows.length > 0 || filtered || project) ? (
        <div className={toolbar["toolbar"]}>
          <ProjectSwitcher />
          <ListFilter label={t`Filter endpoints`} value={q} onChange={(next) => set({ q: next })} />
          <Segmented
            label={t`Status`}
            value={serving ?? "all"}
            options={[
              { value: "all", label: t`All` },
              { value: "healthy", label: t`Healthy` },
              { value: "trouble", label: t`In trouble` },
              { value: "deploying", label: t`Deploying` },
              { value: "resting", label: t`Idle, stopped` },
            ]}
            onChange={(next) => set({ status: next === "all" ? "" : next })}
          />
          <span className="secondary" role="status">
            {rows.length < total
              ? t`${rows.length} of ${plural(total, { one: "# endpoint", other: "# endpoints" })}, by name`
              : plural(total, { one: "# endpoint", other: "# endpoints" })}
          </span>
        </div>
      ) : null}
      {error && !data ? null : (
        <Card flush>
          <DataTable
            label={t`Endpoints`}
            choose="endpoints"
            columns={columnsOf(live)}
            rows={rows}
            rowKey={(row) => row.name}
            loading={isPending}
            // Of a part of the list the newest is not the newest: only all of it is sorted.
            {...(hasNextPage ? {} : { sort: search.sort, onSort: (sort: string | undefined) => set({ sort: sort ?? "" }) })}
            onOpen={(row) => void navigate(paths.endpoint(row.name))}
            empty={
              filtered || project ? (
                <EmptyState title={t`No endpoint matches the filter`} />
              ) : (
                <EmptyState
                  icon={<IconApi size={34} stroke={1.3} />}
                  title={t`No endpoints yet`}
                  detail={t`An endpoint is a stable, authenticated URL. Deploy a model and it gets one.`}
                  action={deployButton}
                />
              )
            }
          />
        </Card>
      )}
      <ShowMore hasNextPage={hasNextPage} isFetchingNextPage={isFetchingNextPage} fetchNextPage={fetchNextPage} />
    </>
  );
}
