/** Deployments, endpoints, models or nodes side by side: the same panels, one line for each. The choice is in the address. */
import { plural, t } from "@lingui/core/macro";
import "@mantine/core/styles/Pill.css";
import "@mantine/core/styles/PillsInput.css";
import { Button, MultiSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { endpointsQuery } from "@/api/endpoints";
import { nodesQuery } from "@/api/nodes";
import { useSeesInstallation } from "@/api/permissions";
import { following, parseRange, rangeText } from "@/app/time-range";
import { ChartGroup } from "@/components/charts/chart-group";
import { EmptyState } from "@/components/empty-state";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { Skeleton } from "@/components/skeleton";
import { type Made, madeOfAll } from "../gap-reason";
import { choices, chosenIds, chosenPanels, type Devices, devicesOf, type Kind, MOST, panelsOf } from "./compare";
import classes from "./compare-page.module.css";
import { ComparedPanels, DEFAULT } from "./compared-panels";

const KIND_WORDS: { value: Kind; label: string }[] = [
  { value: "deployment", label: t`Deployments` },
  { value: "endpoint", label: t`Endpoints` },
  { value: "model", label: t`Models` },
  { value: "node", label: t`Nodes` },
];

interface KindTexts {
  choose: string;
  one: string;
  none: string;
  first: (count: number) => string;
  all: (count: number) => string;
}

const TEXTS: Record<Kind, KindTexts> = {
  deployment: {
    choose: t`Choose deployments`,
    one: t`Choose at least one deployment`,
    none: t`There is no deployment to compare yet`,
    first: (count) => t`Show the first ${count} deployments`,
    all: (count) => plural(count, { one: "Show # deployment", other: "Show all # deployments" }),
  },
  endpoint: {
    choose: t`Choose endpoints`,
    one: t`Choose at least one endpoint`,
    none: t`There is no endpoint to compare yet`,
    first: (count) => t`Show the first ${count} endpoints`,
    all: (count) => plural(count, { one: "Show # endpoint", other: "Show all # endpoints" }),
  },
  model: {
    choose: t`Choose models`,
    one: t`Choose at least one model`,
    none: t`There is no model to compare yet`,
    first: (count) => t`Show the first ${count} models`,
    all: (count) => plural(count, { one: "Show # model", other: "Show all # models" }),
  },
  node: {
    choose: t`Choose nodes`,
    one: t`Choose at least one node`,
    none: t`There is no node to compare yet`,
    first: (count) => t`Show the first ${count} nodes`,
    all: (count) => plural(count, { one: "Show # node", other: "Show all # nodes" }),
  },
};

/** The view in the address, with its defaults, and how it is changed. */
function useView() {
  const search = useSearch({ from: "/app/metrics" });
  const navigate = useNavigate({ from: "/metrics" });
  // why: nodes, and models by the name that they are served under, are of all projects.
  const all = useSeesInstallation();
  const kinds = KIND_WORDS.filter(({ value }) => all || value === "deployment" || value === "endpoint");
  const kind: Kind = kinds.find(({ value }) => value === search.by)?.value ?? "deployment";
  const range = parseRange(search.range) ?? following(DEFAULT);
  const set = (change: Partial<typeof search>) => void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  const charts = useMemo(() => new ChartGroup("compare"), []);
  const zoomed = range.kind === "fixed";
  useEffect(
    () =>
      charts.onSelect(
        (selected) =>
          // why a new entry: the way back from a zoom is the browser's back button, or a double click.
          void navigate({ search: (old) => ({ ...old, range: selected ? rangeText(selected[0], selected[1]) : undefined }) }),
        zoomed,
      ),
    [charts, navigate, zoomed],
  );
  return {
    kind,
    kinds,
    ids: chosenIds(kind, search.ids),
    shown: chosenPanels(kind, search.panels),
    all: search.panels === undefined,
    range,
    set,
    charts,
  };
}
type View = ReturnType<typeof useView>;

/** Also what is compared and has gone since: a link must be able to let go of it. */
function useChoices({ kind, ids }: View) {
  const endpoints = useQuery({ ...endpointsQuery(), enabled: kind !== "node" });
  const nodes = useQuery({ ...nodesQuery(), enabled: kind === "node" });
  const query = kind === "node" ? nodes : endpoints;
  const known = choices(kind, endpoints.data?.items ?? [], nodes.data?.items ?? []);
  const devices = devicesOf(nodes.data?.items ?? []);
  return {
    known: [...new Set([...known, ...ids])],
    devices,
    made: madeOfAll(endpoints.data?.items ?? []),
    loading: query.isPending,
    error: query.error,
    retry: () => void query.refetch(),
  };
}

function Choice({ view, known }: { view: View; known: string[] }) {
  const { kind, kinds, ids, shown, all, set } = view;
  const full = ids.length >= MOST;
  const words = KIND_WORDS.find((one) => one.value === kind)?.label ?? "";
  return (
    <div className={classes["choice"]}>
      <Segmented
        label={t`Compare`}
        value={kind}
        options={kinds}
        onChange={(by) => set({ by: by === "deployment" ? undefined : by, ids: undefined, panels: undefined })}
      />
      <MultiSelect
        size="xs"
        className={classes["ids"] ?? ""}
        aria-label={t`${words} to compare`}
        placeholder={full ? t`${MOST} at most` : ids.length > 0 ? t`Add another` : TEXTS[kind].choose}
        searchable
        clearable
        clearButtonProps={{ "aria-label": t`Compare nothing` }}
        maxValues={MOST}
        data={known}
        value={ids}
        nothingFoundMessage={t`There is no such thing`}
        onChange={(next) => set({ ids: next.join(",") || undefined })}
      />
      <MultiSelect
        size="xs"
        className={classes["panels"] ?? ""}
        aria-label={t`Panels`}
        placeholder={all ? t`All panels` : t`Add`}
        data={panelsOf(kind).map(({ id, title }) => ({ value: id, label: title }))}
        value={all ? [] : shown}
        onChange={(next) => set({ panels: next.join(",") || undefined })}
      />
    </div>
  );
}

function Panels({ view, known, devices, made }: { view: View; known: string[]; devices: Devices; made: Made }) {
  const { kind, ids, shown, range, charts } = view;
  if (ids.length > 0) {
    const drawn = { kind, ids, shown, range, charts, devices, made };
    return <ComparedPanels {...drawn} onRange={(text) => view.set({ range: text })} />;
  }
  const first = known.slice(0, MOST);
  return (
    <EmptyState
      title={first.length > 0 ? TEXTS[kind].one : TEXTS[kind].none}
      detail={t`Up to ${MOST} are drawn side by side; the address of this page holds the choice.`}
      action={
        first.length > 0 ? (
          <Button onClick={() => view.set({ ids: first.join(",") })}>
            {first.length < known.length ? TEXTS[kind].first(first.length) : TEXTS[kind].all(first.length)}
          </Button>
        ) : undefined
      }
    />
  );
}

export function ComparePage() {
  usePageTitle(t`Metrics`);
  const view = useView();
  const { known, devices, made, loading, error, retry } = useChoices(view);
  return (
    <>
      <PageHeader title={t`Metrics`} />
      {error ? <ProblemCard error={error} title={t`What can be compared could not be loaded`} onRetry={retry} /> : null}
      {loading ? <Skeleton height={34} /> : <Choice view={view} known={known} />}
      {loading ? null : <Panels view={view} known={known} devices={devices} made={made} />}
    </>
  );
}
