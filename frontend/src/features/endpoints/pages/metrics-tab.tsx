/** Everything that is measured of an endpoint, over any time from a minute to thirty days. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select, Switch } from "@mantine/core";
import { IconDownload, IconZoomReset } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { eventsQuery } from "@/api/operations";
import { paths } from "@/app/paths";
import { following, parseRange, type Preset, PRESETS, rangeText, stepText } from "@/app/time-range";
import { downloadFile } from "@/components/download";
import { ChartGroup } from "@/components/charts/chart-group";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { ProblemCard } from "@/components/problem-card";
import { RangeFields } from "@/components/range-fields";
import { Segmented } from "@/components/segmented";
import { Skeleton } from "@/components/skeleton";
import { useEvents, useLiveState, useSeriesKeys } from "@/live/hooks";
import { ALL, metricKey, replicaScopes } from "@/live/metric-keys";
import type { Series } from "@/live/series";
import { MarkList } from "../components/mark-list";
import { MetricTables } from "../components/metric-tables";
import { PanelGrid } from "../components/panel-grid";
import { marksOf } from "../event-marks";
import { madeOf } from "../gap-reason";
import { useEndpoint } from "../hooks/use-endpoint";
import { useGapReasons } from "../hooks/use-gap-reasons";
import { freshEvery, useMetrics } from "../hooks/use-metrics";
import { toCsv } from "../metrics-csv";
import { panelGroups } from "../panels";
import { noReplicas, replicaGroups, replicaNotes } from "../replica-panels";
import classes from "./metrics-tab.module.css";

const EVENTS = 500;
const DEFAULT: Preset = "15m";

/** Whether a series ever had a value other than none: what decides if a panel of a rare feature is shown. */
function hasValues(series: Series, key: string): boolean {
  return series.ring.read(key, 0).some((value) => value !== null);
}

export function MetricsTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/metrics" });
  const navigate = useNavigate({ from: "/endpoints/$name/metrics" });
  const range = parseRange(search.range) ?? following(DEFAULT);
  const names = useMemo(() => endpoint.deployments.map((deployment) => deployment.name), [endpoint.deployments]);
  const nodes = [...new Set(endpoint.deployments.flatMap((one) => one.replicas.map((replica) => replica.node)))].filter(Boolean).sort();
  const scope = search.dep && names.includes(search.dep) ? search.dep : ALL;
  const node = search.node && nodes.includes(search.node) ? search.node : "";
  const perReplica = search.per === "replica";
  const { series, step, resolution, empty, answeredAt, leftOut, loading, error, retry } = useMetrics(endpoint.name, range, {
    node,
    perReplica,
    deployment: perReplica && scope !== ALL ? scope : "",
  });
  const keys = useSeriesKeys(series);
  const charts = useMemo(() => new ChartGroup(`metrics ${endpoint.name}`), [endpoint.name]);
  useGapReasons(charts, series, madeOf(endpoint), node !== "");
  const set = (change: Partial<typeof search>) => void navigate({ search: (old) => ({ ...old, ...change }), replace: true });

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

  const iso = (at: number) => new Date(at * 1000).toISOString();
  const events = useQuery(
    eventsQuery(`endpoint/${endpoint.name}`, EVENTS, range.kind === "fixed" ? { since: iso(range.from), until: iso(range.to) } : {}),
  );
  useEvents((event) => {
    if (event.subject === `endpoint/${endpoint.name}`) void events.refetch();
  });
  const from = range.kind === "fixed" ? range.from : null;
  const marks = useMemo(() => {
    const start = from ?? events.dataUpdatedAt / 1000 - range.seconds;
    return marksOf(events.data?.items ?? [], start, from === null ? Number.MAX_SAFE_INTEGER : from + range.seconds);
  }, [events.data, events.dataUpdatedAt, from, range.seconds]);
  useEffect(() => charts.setMarks(marks), [charts, marks]);

  const linkState = useLiveState();
  const dimmed = step === null && (linkState === "reconnecting" || linkState === "offline");
  const replicas = replicaScopes(keys);
  const groups = perReplica
    ? replicaGroups(replicas, endpoint.deployments)
    : panelGroups({ keys, deployments: names, scope }, (metric) => hasValues(series, metricKey(metric)));
  const closed = new Set((search.closed ?? "").split(",").filter(Boolean));
  const toggle = (id: string) => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    set({ closed: [...next].join(",") || undefined });
  };
  const exportCsv = () => {
    const end = Number.isNaN(series.ring.lastTime) ? Date.now() / 1000 : series.ring.lastTime;
    const shown = groups.flatMap((group) => group.panels.flatMap((panel) => panel.lines.map((line) => line.key)));
    downloadFile(`${endpoint.name}-metrics.csv`, "text/csv", toCsv(series.ring, [...new Set(shown)], from ?? end - range.seconds, end));
  };
  if (endpoint.deployments.length === 0 && !loading && keys.length === 0) {
    return <EmptyState title={t`Nothing to measure yet`} detail={t`Metrics appear as soon as a deployment answers its first request.`} />;
  }
  return (
    <>
      <div className={classes["bar"]}>
        <Segmented
          label={t`Range`}
          value={range.kind === "following" ? range.preset : ("fixed" as Preset)}
          options={PRESETS.map((value) => ({ value, label: value }))}
          onChange={(value) => set({ range: value === DEFAULT ? undefined : value })}
        />
        <RangeFields range={range} onChange={(text) => void navigate({ search: (old) => ({ ...old, range: text }) })} />
        {range.kind === "fixed" ? (
          <Button variant="default" leftSection={<IconZoomReset size={15} />} onClick={() => set({ range: undefined })}>
            <Trans>Follow live values</Trans>
          </Button>
        ) : null}
        {names.length > 1 ? (
          <Segmented
            label={t`Deployment`}
            value={scope}
            options={[{ value: ALL, label: t`All` }, ...names.map((name) => ({ value: name, label: name }))]}
            onChange={(dep) => set({ dep: dep === ALL ? undefined : dep })}
          />
        ) : null}
        {nodes.length > 1 || node ? (
          <Select
            aria-label={t`Node`}
            w={170}
            value={node}
            data={[{ value: "", label: t`All nodes` }, ...nodes.map((name) => ({ value: name, label: name }))]}
            onChange={(value) => set({ node: value || undefined })}
          />
        ) : null}
        <Switch
          label={t`Per replica`}
          checked={perReplica}
          onChange={(event) => set({ per: event.currentTarget.checked ? "replica" : undefined })}
        />
        <span className={classes["end"]}>
          <span className="secondary">
            {step === null
              ? t`2 updates per second`
              : perReplica
                ? t`points of ${stepText(step)}`
                : t`points of ${stepText(step)}: mean, with lowest and highest`}
            {step !== null && range.kind === "following" ? t`, read every ${stepText(freshEvery(step))}` : ""}
            {resolution === "hours" ? t`, from hourly roll-ups` : resolution === "minutes" ? t`, from minutes` : ""}
          </span>
          {names.length > 0 ? (
            <LinkButton {...paths.compareMetrics({ ids: names.map((name) => `${endpoint.name}/${name}`).join(",") })} variant="default">
              <Trans>Compare</Trans>
            </LinkButton>
          ) : null}
          <Button variant="default" leftSection={<IconDownload size={15} />} onClick={exportCsv} disabled={keys.length === 0}>
            <Trans>CSV</Trans>
          </Button>
        </span>
      </div>
      {error ? <ProblemCard error={error} title={t`The metrics could not be read`} onRetry={retry} /> : null}
      {perReplica && !empty ? <p className={classes["note"]}>{replicaNotes(range, leftOut, answeredAt).join(" ")}</p> : null}
      {perReplica && empty ? <EmptyState {...noReplicas(range, answeredAt)} /> : null}
      {node && !perReplica ? (
        <p className={classes["note"]}>
          <Trans>On {node} alone: latency and answers are measured at the gateway and belong to no node.</Trans>
        </p>
      ) : null}
      {loading ? <Skeleton height={420} /> : null}
      {loading || (perReplica && empty)
        ? null
        : groups.map((group) => (
            <PanelGrid
              key={group.id}
              group={group}
              open={!closed.has(group.id)}
              onToggle={() => toggle(group.id)}
              charts={charts}
              series={series}
              range={range.seconds}
              envelope={step !== null && step > 2 && !perReplica}
              dimmed={dimmed}
            />
          ))}
      {loading || perReplica ? null : <MetricTables endpoint={endpoint} series={series} range={range.seconds} />}
      <MarkList marks={marks} endpoint={endpoint.name} />
    </>
  );
}
