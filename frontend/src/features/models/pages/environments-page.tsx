/** Environments: the newest version of each list of packages, and the endpoints that use it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconPackages } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { environmentsQuery } from "@/api/environments";
import type { Environment } from "@/api/types";
import { paths } from "@/app/paths";
import type { environmentsSearch } from "@/app/search";
import { Card } from "@/components/card";
import { chooseProject, useChosenProject } from "@/components/chosen-project";
import { CodeBlock } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { ListFilter } from "@/components/list-filter";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { ProjectSwitcher } from "@/components/project-switcher";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { UsedBy } from "../components/used-by";
import { usePaged } from "../components/pager";
import { packagesOf } from "../packages";
import { ArchivedSelect } from "../components/archiving";

type Filters = ReturnType<typeof environmentsSearch>;
const REGISTER = `shoal environment create --name my-env --conda-file conda.yaml`;

const COLUMNS: Column<Environment>[] = [
  {
    id: "name",
    header: t`Name`,
    cell: (row) => (
      <>
        <Link {...paths.environment(row.name)} style={{ fontWeight: 600 }}>
          {row.name}
        </Link>{" "}
        {row.archived ? (
          <Chip tone="warn">
            <Trans>archived</Trans>
          </Chip>
        ) : null}
        {row.description ? <div className="secondary truncate">{row.description}</div> : null}
      </>
    ),
  },
  { id: "project", header: t`Project`, hideBelow: "lg", cell: (row) => row.project },
  { id: "version", header: t`Latest`, align: "right", cell: (row) => `v${row.version}` },
  {
    id: "packages",
    header: t`Packages`,
    hideBelow: "md",
    cell: (row) => <span className="mono truncate">{packagesOf(row).slice(0, PACKAGES_SHOWN).join(", ") || "–"}</span>,
  },
  { id: "used", header: t`Used by`, cell: (row) => <UsedBy endpoints={row.used_by} /> },
  { id: "at", header: t`Registered`, hideBelow: "md", cell: (row) => <Time at={row.created_at} /> },
  { id: "by", header: t`By`, hideBelow: "lg", cell: (row) => row.created_by },
];
const PACKAGES_SHOWN = 4;

export function EnvironmentsPage() {
  usePageTitle(t`Environments`);
  const search: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const project = useChosenProject();
  const { data, error, isPending, refetch } = useQuery(
    environmentsQuery({ ...(search.archived ? { archived: search.archived } : {}), ...(project ? { project } : {}) }),
  );
  const filter = (part: { [Key in keyof Filters]?: Filters[Key] | undefined }) =>
    void navigate({ to: ".", search: (old: Filters) => ({ ...old, ...part }) as Filters, replace: true });
  const wanted = (search.q ?? "").toLowerCase();
  const found = data?.items.filter((one) => one.name.toLowerCase().includes(wanted) || one.requirements.toLowerCase().includes(wanted));
  const { rows, pager } = usePaged(found, t`Pages of environments`);
  const filtered = Boolean(search.q || search.archived || project);
  return (
    <>
      <PageHeader
        title={t`Environments`}
        subtitle={t`Packages that scoring scripts run with. Deployments name them azureml:<name>:<version>.`}
      />
      {error ? <ProblemCard error={error} title={t`The environments could not be loaded`} onRetry={() => void refetch()} /> : null}
      {filtered || (data && data.items.length > 0) ? (
        <div className={toolbar["toolbar"]}>
          <ProjectSwitcher />
          <ListFilter label={t`Filter by name or package`} value={search.q ?? ""} onChange={(q) => filter({ q: q || undefined })} />
          <ArchivedSelect value={search.archived} onChange={(archived) => filter({ archived })} />
          <span className="secondary" role="status">
            {found ? plural(found.length, { one: "# environment", other: "# environments" }) : ""}
          </span>
        </div>
      ) : null}
      {error ? null : (
        <Card flush>
          <DataTable
            label={t`Environments`}
            choose="environments"
            columns={COLUMNS}
            rows={rows}
            rowKey={(row) => row.name}
            loading={isPending}
            onOpen={(row) => void navigate(paths.environment(row.name))}
            empty={
              filtered ? (
                <EmptyState
                  title={t`No environment matches`}
                  detail={t`Nothing fits all the filters above.`}
                  action={
                    <Button
                      variant="default"
                      onClick={() => {
                        chooseProject("");
                        void navigate({ to: ".", search: {} });
                      }}
                    >
                      <Trans>Clear the filters</Trans>
                    </Button>
                  }
                />
              ) : (
                <EmptyState
                  icon={<IconPackages size={34} stroke={1.3} />}
                  title={t`No environments yet`}
                  detail={t`A conda file, or a list for pip, is registered by the command line or the SDK.`}
                  action={<CodeBlock code={REGISTER} label={t`the command`} />}
                />
              )
            }
          />
          {pager}
        </Card>
      )}
    </>
  );
}
