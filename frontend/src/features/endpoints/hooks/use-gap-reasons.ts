/** Tells the charts of a page why there are gaps, from what was measured beside them. */
import { useEffect } from "react";
import type { Endpoint } from "@/api/types";
import type { ChartGroup } from "@/components/charts/chart-group";
import type { Series } from "@/live/series";
import { gapReason, type Made } from "../gap-reason";

const seconds = (iso: string) => Date.parse(iso) / 1000;

export function useGapReasons(charts: ChartGroup, series: Series, { created_at: created, deployments }: Endpoint): void {
  useEffect(() => {
    const made: Made = { endpoint: seconds(created), deployments: new Map(deployments.map((one) => [one.name, seconds(one.created_at)])) };
    return charts.onGap((key, time) =>
      gapReason(key, { time, value: (name) => series.ring.valueAt(name, time), silent: series.isSilent(time) }, made),
    );
  }, [charts, series, created, deployments]);
}
