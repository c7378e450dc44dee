/** Every endpoint: what it serves, how it does, where the traffic goes. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconApi, IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { endpointsQuery } from "@/api/endpoints";
import type { Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { useChosenProject } from "@/components/chosen-project";
import { CopyButton } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ProjectSwitcher } from "@/components/project-switcher";
import { ListFilter } from "@/components/list-filter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { Segmented } from "@/components/segmented";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { TrafficBar } from "@/components/traffic-bar";
import { stateWord } from "@/components/state-words";

const modelText = (row: Endpoint) => row.models.map((item) => `${item.name} v${item.version}`).join(", ");

const COLUMNS: Column<Endpoint>[] = [
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
  {
    id: "deployments",
    header: t`Deployments`,
    align: "right",
    sortValue: (row) => row.deployments.length,
    cell: (row) => row.deployments.length,
  },
  { id: "traffic", header: t`Traffic`, width: 190, hideBelow: "sm", cell: (row) => <TrafficBar thin traffic={row.traffic} /> },
  { id: "updated", header: t`Updated`, hideBelow: "md", sortValue: (row) => row.updated_at, cell: (row) => <Time at={row.updated_at} /> },
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
  const search = useSearch({ from: "/app/endpoints" });
  const navigate = useNavigate({ from: "/endpoints" });
  const open = useNavigate();
  const { data, error, isPending, refetch } = useQuery({ ...endpointsQuery(), refetchInterval: 10_000 });
  const project = useChosenProject();
  const query = search.q ?? "";
  const needle = query.trim().toLowerCase();
  const states = [...new Set(data?.items.map((item) => item.serving_state) ?? [])].sort();
  const rows = data?.items.filter(
    (item) =>
      `${item.name} ${item.description} ${modelText(item)}`.toLowerCase().includes(needle) &&
      (!project || item.project === project) &&
      (!search.status || item.serving_state === search.status),
  );
  const deployButton = (
    <RefusingLink needs="deploy" link={paths.deploy()} leftSection={<IconRocket size={16} />}>
      <Trans>Deploy a model</Trans>
    </RefusingLink>
  );
  return (
    <>
      <PageHeader title={t`Endpoints`} actions={deployButton} />
      {error && !data ? <ProblemCard error={error} title={t`The endpoints could not be loaded`} onRetry={() => void refetch()} /> : null}
      {data && data.items.length > 0 ? (
        <div className={toolbar["toolbar"]}>
          <ProjectSwitcher />
          <ListFilter
            label={t`Filter endpoints`}
            value={query}
            onChange={(q) => void navigate({ search: (old) => ({ ...old, q: q || undefined }), replace: true })}
          />
          {states.length > 1 ? (
            <Segmented
              label={t`Status`}
              value={search.status ?? "All"}
              options={[{ value: "All", label: t`All` }, ...states.map((value) => ({ value, label: stateWord(value) }))]}
              onChange={(value) =>
                void navigate({ search: (old) => ({ ...old, status: value === "All" ? undefined : value }), replace: true })
              }
            />
          ) : null}
          <span className="secondary" role="status">
            {rows && rows.length < data.items.length
              ? t`${rows.length} of ${plural(data.items.length, { one: "# endpoint", other: "# endpoints" })}`
              : plural(data.items.length, { one: "# endpoint", other: "# endpoints" })}
          </span>
        </div>
      ) : null}
      {error && !data ? null : (
        <Card flush>
          <DataTable
            label={t`Endpoints`}
            choose="endpoints"
            columns={COLUMNS}
            rows={rows}
            rowKey={(row) => row.name}
            loading={isPending}
            sort={search.sort}
            onSort={(sort) => void navigate({ search: (old) => ({ ...old, sort }), replace: true })}
            onOpen={(row) => void open(paths.endpoint(row.name))}
            empty={
              data && data.items.length > 0 ? (
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
    </>
  );
}
