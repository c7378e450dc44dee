/** Recent request rates per endpoint: the measured past first, then what the overview tells while it is open. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readMetrics } from "@/api/endpoints";
import { overviewQuery } from "@/api/operations";
import type { Overview } from "@/api/types";
import { metricKey } from "@/live/metric-keys";
import { coursesOf, type Told, told } from "../request-course";

const RANGE_S = 300;
/** More rows than this get no past: a table of a hundred endpoints must not start a hundred requests. */
const WITH_PAST = 12;

export function useRequestRates(endpoints: readonly Overview["endpoints"][number][]): Map<string, (number | null)[]> {
  const past = useQueries({
    queries: endpoints.slice(0, WITH_PAST).map((endpoint) => ({
      queryKey: ["endpoints", "one", endpoint.name, "metrics", RANGE_S],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const { keys, t, v } = await readMetrics(endpoint.name, { range: RANGE_S }, signal);
        return { name: endpoint.name, times: t, values: v[keys.indexOf(metricKey("answer_rate"))] ?? [], at: Date.now() / 1000 };
      },
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })),
  });
  // why the time of the answer: rates that stay as they are are told again, and are the same objects.
  const at = useQuery(overviewQuery()).dataUpdatedAt / 1000;
  const [seen, setSeen] = useState<Told>(new Map());
  useEffect(() => {
    if (at > 0) setSeen((old) => told(old, endpoints, at, RANGE_S));
  }, [endpoints, at]);
  return coursesOf(
    endpoints.map((endpoint) => endpoint.name),
    past.flatMap((query) => (query.data ? [query.data] : [])),
    seen,
    { at, range: RANGE_S },
  );
}
