/** One environment: the packages of a version, what they were made from, and who uses them. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Menu, Select } from "@mantine/core";
import { IconCode, IconDots } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import {
  archiveEnvironment,
  archiveEnvironmentVersion,
  environmentVersionsQuery,
  restoreEnvironment,
  restoreEnvironmentVersion,
} from "@/api/environments";
import { keys } from "@/api/keys";
import { toProblem } from "@/api/problem";
import type { Environment } from "@/api/types";
import { paths } from "@/app/paths";
import { asCodeWords, showAsCode } from "@/components/as-code";
import { Card } from "@/components/card";
import { CodeBlock, CopyField } from "@/components/copy";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import { UsedBy } from "../components/used-by";
import { packagesOf } from "../packages";
import { environmentRecipe } from "../recipes";
import { ArchiveItem } from "../components/archiving";
import { type Fact, Facts } from "../components/facts";
import { TagChips } from "../components/tag-chips";
import classes from "../models.module.css";

export function EnvironmentPage() {
  const { name } = useParams({ from: "/app/environments/$name" });
  const { version } = useSearch({ from: "/app/environments/$name" });
  usePageTitle(version ? `${name} v${version}` : name, t`Environments`);
  return <EnvironmentView name={name} version={version} />;
}

export function EnvironmentView({ name, version }: { name: string; version: number | undefined }) {
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(environmentVersionsQuery(name));
  const one =
    data?.items.find((item) => (version === undefined ? !item.archived : item.version === version)) ?? latest(data?.items, version);
  const missing = (error && toProblem(error).status === 404) || (data && !one);
  if (missing) {
    return (
      <>
        <PageHeader title={name} />
        <EmptyState
          title={version === undefined ? t`There is no environment ${name}` : t`${name} has no version ${version}`}
          detail={t`It may belong to a project in which you have no role.`}
          action={
            <LinkButton {...paths.environments()} variant="default">
              <Trans>All environments</Trans>
            </LinkButton>
          }
        />
      </>
    );
  }
  if (error) return <ProblemCard error={error} title={t`The environment could not be loaded`} onRetry={() => void refetch()} />;
  if (!one) {
    return (
      <>
        <PageHeader title={name} />
        <SkeletonRows label={t`Loading the environment`} />
      </>
    );
  }
  const items = data?.items ?? [];
  return (
    <>
      <PageHeader
        title={name}
        subtitle={one.description}
        beside={
          <>
            <Select
              aria-label={t`Version`}
              w={170}
              allowDeselect={false}
              value={String(one.version)}
              data={items.map((item) => ({
                value: String(item.version),
                label: item.archived ? t`version ${item.version}, archived` : t`version ${item.version}`,
              }))}
              onChange={(value) => value && void navigate(paths.environment(name, Number(value)))}
            />
            {one.archived ? (
              <Chip tone="warn">
                <Trans>archived</Trans>
              </Chip>
            ) : null}
          </>
        }
        actions={<Actions one={one} all={items} />}
      />
      <div className={classes["grid"]}>
        <div className={classes["stack"]}>
          <Packages one={one} />
          {one.conda_file ? (
            <Card title={t`Conda file`} hint={t`what the list was made from, as JSON`}>
              <CodeBlock code={JSON.stringify(one.conda_file, null, 2)} label={t`conda file`} />
            </Card>
          ) : null}
        </div>
        <div className={classes["stack"]}>
          <Card title={t`Used by`} hint={plural(one.used_by.length, { one: "# endpoint", other: "# endpoints" })}>
            <UsedBy endpoints={one.used_by} none={t`No endpoint uses this version.`} />
          </Card>
          <About one={one} />
        </div>
      </div>
    </>
  );
}

/** Without a number the newest that is not archived, else the newest. */
const latest = (items: readonly Environment[] | undefined, version: number | undefined) => (version === undefined ? items?.[0] : undefined);

function Packages({ one }: { one: Environment }) {
  const packages = packagesOf(one);
  return (
    <Card title={t`Packages`} hint={t`${plural(packages.length, { one: "# package", other: "# packages" })}, as nodes give them to pip`}>
      {one.requirements ? (
        <CodeBlock code={one.requirements.trimEnd()} label={t`list of packages`} />
      ) : (
        <p className="secondary">
          <Trans>None: scripts run with the runtime's Python and numpy.</Trans>
        </p>
      )}
    </Card>
  );
}

function About({ one }: { one: Environment }) {
  const facts: Fact[] = [
    [t`Named`, <CopyField key="n" text={`azureml:${one.name}:${one.version}`} label={t`reference`} />],
    [t`Project`, one.project],
    [t`Registered`, <Time key="t" at={one.created_at} />],
    [t`By`, one.created_by],
    ...(one.image ? [[t`Image`, <span key="i" className="mono">{t`${one.image} (not run)`}</span>] satisfies Fact] : []),
    [t`Tags`, <TagChips key="t" tags={one.tags} />],
  ];
  return (
    <Card title={t`About this version`}>
      <Facts facts={facts} />
    </Card>
  );
}

function Actions({ one, all }: { one: Environment; all: readonly Environment[] }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const { name, version } = one;
  const allArchived = all.every((item) => item.archived);
  const recipe = () => environmentRecipe({ name, version, versionArchived: one.archived, modelArchived: allArchived });
  const onDone = async () => {
    // Without a number the page would leave a version that has just been archived.
    await navigate({ ...paths.environment(name, version), replace: true });
    await queryClient.invalidateQueries({ queryKey: keys.environments.all });
  };
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t`More actions`} variant="default">
          <IconDots size={17} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconCode size={16} />} onClick={() => showAsCode(recipe())}>
          {asCodeWords(recipe())}
        </Menu.Item>
        <ArchiveItem
          what={t`version ${version}`}
          archived={one.archived}
          archive={() => archiveEnvironmentVersion(name, version)}
          restore={() => restoreEnvironmentVersion(name, version)}
          onDone={onDone}
        />
        <ArchiveItem
          what={name}
          label={t`all versions`}
          archived={allArchived}
          archive={() => archiveEnvironment(name)}
          restore={() => restoreEnvironment(name)}
          onDone={onDone}
        />
      </Menu.Dropdown>
    </Menu>
  );
}
