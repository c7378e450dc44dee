/** The series of the metrics page: the live ones while they suffice, else buckets of the past, kept fresh. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { readHistory } from "@/api/endpoints";
import type { MetricColumns } from "@/api/types";
import { LIVE_SECONDS, type TimeRange } from "@/app/time-range";
import { useEndpointSeries } from "@/live/hooks";
import { highKey, lowKey } from "@/live/metric-keys";
import { Series } from "@/live/series";

export interface Metrics {
  series: Series;
  /** Points are buckets of this width; null for live points. */
  step: number | null;
  resolution: MetricColumns["resolution"];
  loading: boolean;
  error: unknown;
  retry: () => void;
}

const SOONEST_MS = 2_000;

/** One series more per key for the lowest and the highest value of each bucket. */
export function withBounds({ keys, t, v, low, high }: MetricColumns): { keys: string[]; t: number[]; v: (number | null)[][] } {
  if (low.length === 0) return { keys, t, v };
  return { keys: [...keys, ...keys.map(lowKey), ...keys.map(highKey)], t, v: [...v, ...low, ...high] };
}

export function useMetrics(endpoint: string, range: TimeRange, node: string): Metrics {
  const live = range.kind === "following" && range.seconds <= LIVE_SECONDS && node === "";
  const liveSeries = useEndpointSeries(endpoint, LIVE_SECONDS);
  const shape = JSON.stringify([endpoint, range, node]);
  const past = useMemo(() => {
    // why named here: another range is another memory.
    void shape;
    return new Series();
  }, [shape]);
  const span = range.kind === "fixed" ? { from: range.from, to: range.to } : { range: range.seconds };
  const query = useQuery({
    queryKey: ["endpoints", "one", endpoint, "history", span, node],
    // why a step: without one a short range is answered with live points, which know no node.
    queryFn: ({ signal }) => readHistory(endpoint, { ...span, step: 2, ...(node ? { node } : {}) }, signal),
    enabled: !live,
    placeholderData: keepPreviousData,
    refetchInterval: (found) =>
      range.kind === "fixed" ? false : Math.max(SOONEST_MS, Math.min(60, found.state.data?.step_s ?? 10) * 1000),
  });
  const { data } = query;
  useEffect(() => {
    if (data) past.accept({ type: "snapshot", topic: "", ...withBounds(data) });
  }, [data, past]);
  return {
    series: live ? liveSeries : past,
    step: live ? null : (data?.step_s ?? null),
    resolution: live ? "live" : (data?.resolution ?? "samples"),
    loading: !live && query.isPending,
    error: live ? null : query.error,
    retry: () => void query.refetch(),
  };
}
