/** Tells the charts of a page why there are gaps, from what was measured beside them. */
import { useEffect } from "react";
import type { ChartGroup } from "@/components/charts/chart-group";
import type { Series } from "@/live/series";
import { gapReason, type Made } from "../gap-reason";

/** `oneNode`: only what ran on one node is shown. */
export function useGapReasons(charts: ChartGroup, series: Series, made: Made, oneNode = false): void {
  useEffect(
    () =>
      charts.onGap((key, time) =>
        gapReason(key, { time, value: (name) => series.ring.valueAt(name, time), silent: series.isSilent(time), oneNode }, made),
      ),
    [charts, series, made, oneNode],
  );
}
