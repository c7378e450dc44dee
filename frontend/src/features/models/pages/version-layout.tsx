/** Header and tabs around every page of one version of a model. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { modelQuery, modelVersionQuery, modelVersionsQuery, newestRevision } from "@/api/models";
import { toProblem } from "@/api/problem";
import { MODEL_TABS, paths, type ModelTab } from "@/app/paths";
import { CodeChip, CodeNotice } from "@/components/code-notice";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { Chip } from "@/components/status";
import { Tabs } from "@/components/tabs";
import { Aliases } from "../components/aliases";
import { VersionActions } from "../components/version-actions";
import classes from "../models.module.css";

/** The tab in view, so that changing the version keeps it. */
function useTab(): ModelTab {
  const last = useRouterState({ select: (state) => state.location.pathname.split("/").at(-1) });
  return MODEL_TABS.find((tab) => tab === last) ?? "overview";
}

export function VersionLayout() {
  const { name, version: number } = useParams({ from: "/app/models/$name/versions/$version" });
  const navigate = useNavigate();
  const tab = useTab();
  usePageTitle(`${name} v${number}`, t`Models`);
  const wanted = number === "latest" ? "latest" : Number(number);
  const version = useQuery(modelVersionQuery(name, wanted));
  const model = useQuery(modelQuery(name));
  const versions = useQuery(modelVersionsQuery(name));
  const items = versions.data?.items ?? [];
  const at = items.findIndex((item) => item.version === version.data?.version);
  const go = (target: number | undefined) => target !== undefined && void navigate(paths.modelTab(name, target, tab));
  // The list has the newest first.
  useHotkeys([
    ["[", () => go(items[at + 1]?.version)],
    ["]", () => go(items[at - 1]?.version)],
  ]);
  const error = version.error ?? model.error;
  if (error && toProblem(error).status === 404) {
    return (
      <>
        <PageHeader title={name} />
        <EmptyState
          title={t`${name} has no version ${number}`}
          detail={t`It may have been deleted.`}
          action={
            <LinkButton {...paths.models()} variant="default">
              <Trans>All models</Trans>
            </LinkButton>
          }
        />
      </>
    );
  }
  if (error) {
    return (
      <ProblemCard
        error={error}
        title={t`The version could not be loaded`}
        onRetry={() => {
          void version.refetch();
          void model.refetch();
        }}
      />
    );
  }
  if (!version.data || !model.data) {
    return (
      <>
        <PageHeader title={name} />
        <SkeletonRows rows={8} label={t`Loading the version`} />
      </>
    );
  }
  const one = version.data;
  const backends = [...new Set(one.repo_models.map((item) => item.backend || item.platform))].filter(Boolean);
  return (
    <>
      <PageHeader
        title={name}
        subtitle={model.data.description}
        beside={
          <>
            <Select
              aria-label={t`Version`}
              w={150}
              allowDeselect={false}
              value={String(one.version)}
              data={items.map((item) => ({
                value: String(item.version),
                label: item.archived ? t`version ${item.version}, archived` : t`version ${item.version}`,
              }))}
              onChange={(value) => value && go(Number(value))}
            />
            {backends.slice(0, MAX_BACKENDS).map((backend) => (
              <Chip key={backend} mono>
                {backend}
              </Chip>
            ))}
            <CodeChip code={one.code} />
            {one.archived || model.data.archived ? (
              <Chip tone="warn">
                <Trans>archived</Trans>
              </Chip>
            ) : null}
          </>
        }
        actions={<VersionActions model={model.data} version={one} />}
      />
      <div className={classes["underHead"]}>
        <Aliases model={model.data} version={one} />
      </div>
      {one.code.state === "waiting" || one.code.state === "refused" ? (
        <CodeNotice code={one.code} version={{ model: name, version: one.version, revision: newestRevision(one) }} />
      ) : null}
      <Tabs
        label={t`Model version`}
        tabs={[
          { label: t`Overview`, link: paths.modelTab(name, one.version, "overview") },
          { label: t`Configuration`, link: paths.modelTab(name, one.version, "config"), ...counted(one.config_revisions.length) },
          { label: t`Files`, link: paths.modelTab(name, one.version, "files"), count: one.manifest.length },
          { label: t`Compare`, link: paths.modelTab(name, one.version, "compare") },
          { label: t`Used by`, link: paths.modelTab(name, one.version, "usage"), ...counted(one.used_by.length) },
          { label: t`Activity`, link: paths.modelTab(name, one.version, "activity") },
        ]}
      />
      <Outlet key={`${name} ${one.version}`} />
    </>
  );
}

const MAX_BACKENDS = 4;
const counted = (count: number) => (count > 0 ? { count } : {});
