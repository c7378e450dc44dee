/** The newest value of one series as text, written into the page directly: a tick renders nothing. */
import { useEffect, useRef } from "react";
import { MISSING } from "@/components/format";
import { metricKey } from "@/live/metric-keys";
import type { Series } from "@/live/series";
import { type Metric, metricText } from "@/metrics/registry";

export interface LiveValueProps {
  series: Series;
  metric: Metric;
  /** A deployment, or `all`. */
  scope: string;
}

export function LiveValue({ series, metric, scope }: LiveValueProps) {
  const text = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      series.onDraw(() => {
        const words = metricText(metric, series.ring.last(metricKey(metric, scope)));
        if (text.current && text.current.textContent !== words) text.current.textContent = words;
      }),
    [series, metric, scope],
  );
  return <span ref={text}>{MISSING}</span>;
}
