/** The series of several things side by side, asked for anew as often as they change. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { readSeries } from "@/api/metrics";
import type { TimeRange } from "@/app/time-range";
import { Series } from "@/live/series";
import { withBounds } from "../hooks/use-metrics";
import type { Kind } from "./compare";

const SOONEST_S = 5;
/** From so much on, buckets are minutes: they are kept, samples would have to be counted. */
const MINUTES_FROM_S = 1_800;

export interface Compared {
  series: Series;
  step: number | null;
  loading: boolean;
  error: unknown;
  retry: () => void;
}

export function useCompared(kind: Kind, ids: readonly string[], metrics: readonly string[], range: TimeRange): Compared {
  const shape = JSON.stringify([kind, ids, metrics, range]);
  const series = useMemo(() => {
    // why named here: another question is another memory.
    void shape;
    return new Series();
  }, [shape]);
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["metrics", "compared", shape],
    queryFn: ({ signal }) =>
      readSeries(
        {
          by: kind,
          ids: ids.join(","),
          metrics: metrics.join(","),
          step: range.seconds >= MINUTES_FROM_S ? 60 : SOONEST_S,
          ...(range.kind === "fixed" ? { from: range.from, to: range.to } : { range: range.seconds }),
        },
        signal,
      ),
    enabled: ids.length > 0 && metrics.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: (found) =>
      range.kind === "fixed" ? false : Math.max(SOONEST_S, Math.min(60, found.state.data?.step_s ?? SOONEST_S)) * 1000,
  });
  useEffect(() => {
    if (data) series.accept({ type: "snapshot", topic: "", ...withBounds(data) });
  }, [data, series]);
  return { series, step: data?.step_s ?? null, loading: isPending, error, retry: () => void refetch() };
}
