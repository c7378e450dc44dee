/** Eight numbers with their recent course. Values are written into the page directly: a tick renders nothing. */
import { useEffect, useRef } from "react";
import { HOLD_S, type Level, levelOf } from "@/components/charts/level";
import { LiveSparkline } from "@/components/charts/sparkline";
import { decimalParts, durationParts, type Measured, percentParts, rateParts } from "@/components/format";
import { ALL, metricKey } from "@/live/metric-keys";
import type { Series } from "@/live/series";
import { QUEUE_LEVELS } from "../panels";
import classes from "./kpi-strip.module.css";

interface Kpi {
  label: string;
  title: string;
  read: (series: Series, scope: string, from: number) => (number | null)[];
  format: (value: number | null) => Measured;
  levels?: readonly Level[];
}

type PlainMetric = Parameters<typeof metricKey>[0];
const plain = (metric: PlainMetric) => (series: Series, scope: string, from: number) =>
  series.ring.read(metricKey(metric, scope), from);

const KPIS: Kpi[] = [
  {
    label: "Throughput",
    title: "Inferences per second: a batch of 8 counts as 8",
    read: plain("inference_rate"),
    format: (value) => rateParts(value, "inf/s"),
  },
  { label: "Requests", title: "Requests per second at the gateway", read: plain("request_rate"), format: (value) => rateParts(value, "req/s") },
  { label: "Latency p50", title: "Half of the requests were faster, at the gateway", read: plain("p50_us"), format: durationParts },
  { label: "Latency p95", title: "95 of 100 requests were faster, at the gateway", read: plain("p95_us"), format: durationParts },
  { label: "Latency p99", title: "99 of 100 requests were faster, at the gateway", read: plain("p99_us"), format: durationParts },
  { label: "Queue share", title: "Waiting time as a share of the time inside the runtime", read: plain("queue_share"), format: percentParts, levels: QUEUE_LEVELS },
  { label: "Mean batch", title: "Inferences per execution", read: plain("mean_batch"), format: decimalParts },
  { label: "Error rate", title: "Failed requests as a share of all, at the gateway", read: plain("error_rate"), format: percentParts },
];

function Tile({ kpi, series, scope, range }: { kpi: Kpi; series: Series; scope: string; range: number }) {
  const value = useRef<HTMLSpanElement>(null);
  const unit = useRef<HTMLSpanElement>(null);
  const level = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      series.onDraw(() => {
        const newest = kpi.read(series, scope, Math.max(0, series.ring.length - 1));
        const parts = kpi.format(newest[newest.length - 1] ?? null);
        if (value.current && value.current.textContent !== parts.value) value.current.textContent = parts.value;
        if (level.current && kpi.levels) {
          const from = series.ring.firstIndex(series.ring.lastTime - HOLD_S);
          const found = levelOf(series.ring.readTimes(from), kpi.read(series, scope, from), kpi.levels);
          level.current.textContent = found?.word ?? "";
          level.current.dataset["tone"] = found?.tone ?? "";
        }
        if (unit.current && unit.current.textContent !== parts.unit) unit.current.textContent = parts.unit;
      }),
    [kpi, series, scope],
  );
  return (
    <div className={classes["tile"]} title={kpi.title}>
      <div className={classes["label"]}>{kpi.label}</div>
      <div className={classes["value"]}>
        <span ref={value}>–</span>
        <span ref={unit} className={classes["unit"]} />
        {kpi.levels ? <span ref={level} className={classes["level"]} /> : null}
      </div>
      <LiveSparkline
        series={series}
        label={`${kpi.label}, recent course`}
        read={() => kpi.read(series, scope, series.ring.firstIndex(series.ring.lastTime - range))}
      />
    </div>
  );
}

export interface KpiStripProps {
  series: Series;
  /** A deployment, or all. */
  scope?: string;
  range: number;
  dimmed: boolean;
}

export function KpiStrip({ series, scope = ALL, range, dimmed }: KpiStripProps) {
  return (
    <section className={classes["strip"]} aria-label="Key figures" data-dimmed={dimmed || undefined}>
      {KPIS.map((kpi) => (
        <Tile key={kpi.label} kpi={kpi} series={series} scope={scope} range={range} />
      ))}
    </section>
  );
}
