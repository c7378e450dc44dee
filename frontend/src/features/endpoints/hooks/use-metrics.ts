/** The series of the metrics page: the live ones while they suffice, else buckets of the past, kept fresh. */
import { type QueryKey, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { type MetricsQuery, readMetrics } from "@/api/endpoints";
import type { MetricColumns } from "@/api/types";
import { LIVE_SECONDS, type TimeRange } from "@/app/time-range";
import { useEndpointSeries } from "@/live/hooks";
import { highKey, lowKey } from "@/live/metric-keys";
import { Series } from "@/live/series";
import { REPLICA_METRICS } from "../replica-panels";

export interface Metrics {
  series: Series;
  /** Points are buckets of this width; null for live points. */
  step: number | null;
  resolution: MetricColumns["resolution"];
  /** The server answered, and knows no series of this time. */
  empty: boolean;
  /** When it answered, in Unix seconds; 0 before. */
  answeredAt: number;
  /** Replicas that were sampled and are not among the series. */
  leftOut: number;
  loading: boolean;
  error: unknown;
  retry: () => void;
}

const SOONEST_S = 2;
const LATEST_S = 60;
/** Between points of one replica: twelve of them cost as much as the endpoint many times. */
const REPLICA_STEP_S = 5;

/** One series more per key for the lowest and the highest value of each bucket. */
export function withBounds({ keys, t, v, low, high }: MetricColumns): { keys: string[]; t: number[]; v: (number | null)[][] } {
  if (low.length === 0) return { keys, t, v };
  return { keys: [...keys, ...keys.map(lowKey), ...keys.map(highKey)], t, v: [...v, ...low, ...high] };
}

/** How often what goes on is asked for anew, for points of this width. */
export const freshEvery = (step: number | null): number => Math.max(SOONEST_S, Math.min(LATEST_S, step ?? 10));

export interface Which {
  node: string;
  /** Each replica on its own; with `deployment` only the replicas of that. */
  perReplica: boolean;
  deployment: string;
}

/** What is asked for beside the time. */
function asked({ node, perReplica, deployment }: Which): MetricsQuery {
  const where = node ? { node } : {};
  // why a step: without one a short range is answered with live points, which know no node.
  if (!perReplica) return { ...where, step: 2 };
  return { ...where, step: REPLICA_STEP_S, by: "replica", metrics: REPLICA_METRICS.join(","), ...(deployment ? { deployment } : {}) };
}

function isPerReplica(key: QueryKey | undefined): boolean {
  return (key?.at(-1) as MetricsQuery | undefined)?.by === "replica";
}

export function useMetrics(endpoint: string, range: TimeRange, which: Which): Metrics {
  const live = range.kind === "following" && range.seconds <= LIVE_SECONDS && which.node === "" && !which.perReplica;
  const liveSeries = useEndpointSeries(endpoint, LIVE_SECONDS);
  const filters = asked(which);
  const shape = JSON.stringify([endpoint, range, filters]);
  const past = useMemo(() => {
    // why named here: another range is another memory.
    void shape;
    return new Series();
  }, [shape]);
  const span = range.kind === "fixed" ? { from: range.from, to: range.to } : { range: range.seconds };
  const query = useQuery({
    queryKey: ["endpoints", "one", endpoint, "history", span, filters],
    queryFn: ({ signal }) => readMetrics(endpoint, { ...span, ...filters }, signal),
    enabled: !live,
    // why not of the other kind: its keys are not those that the panels wait for.
    placeholderData: (old, before) => (isPerReplica(before?.queryKey) === which.perReplica ? old : undefined),
    refetchInterval: (found) => (range.kind === "fixed" ? false : freshEvery(found.state.data?.step_s ?? null) * 1000),
  });
  const { data } = query;
  useEffect(() => {
    if (data) past.accept({ type: "snapshot", topic: "", ...withBounds(data) });
  }, [data, past]);
  return {
    series: live ? liveSeries : past,
    step: live ? null : (data?.step_s ?? null),
    empty: !live && data?.keys.length === 0,
    answeredAt: query.dataUpdatedAt / 1000,
    leftOut: live ? 0 : (data?.left_out ?? 0),
    resolution: live ? "live" : (data?.resolution ?? "samples"),
    loading: !live && query.isPending,
    error: live ? null : query.error,
    retry: () => void query.refetch(),
  };
}
