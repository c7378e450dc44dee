/** Recent request rates per endpoint: the measured past first, then what the overview tells while it is open. */
import { useQueries } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readMetrics } from "@/api/endpoints";
import type { Overview } from "@/api/types";
import { metricKey } from "@/live/metric-keys";

const RANGE_S = 300;
const KEPT = 600;
/** More rows than this get no past: a table of a hundred endpoints must not start a hundred requests. */
const WITH_PAST = 12;

type Rates = Map<string, (number | null)[]>;

export function useRequestRates(endpoints: readonly Overview["endpoints"][number][]): Rates {
  const past = useQueries({
    queries: endpoints.slice(0, WITH_PAST).map((endpoint) => ({
      queryKey: ["endpoints", "one", endpoint.name, "metrics", RANGE_S],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const { keys, v } = await readMetrics(endpoint.name, { range: RANGE_S }, signal);
        return { name: endpoint.name, values: v[keys.indexOf(metricKey("request_rate"))] ?? [] };
      },
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })),
  });
  const [seen, setSeen] = useState<Rates>(new Map());
  useEffect(() => {
    setSeen((old) => {
      const next: Rates = new Map();
      for (const endpoint of endpoints) {
        next.set(endpoint.name, [...(old.get(endpoint.name) ?? []), endpoint.live.request_rate].slice(-KEPT));
      }
      return next;
    });
  }, [endpoints]);
  const rates: Rates = new Map();
  for (const endpoint of endpoints) {
    const before = past.find((query) => query.data?.name === endpoint.name)?.data?.values ?? [];
    rates.set(endpoint.name, [...before, ...(seen.get(endpoint.name) ?? [])]);
  }
  return rates;
}
