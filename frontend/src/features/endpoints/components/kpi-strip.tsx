/** Eight numbers with their recent course. Values are written into the page directly: a tick renders nothing. */
import { t } from "@lingui/core/macro";
import { useEffect, useRef } from "react";
import { HOLD_S, levelOf } from "@/components/charts/level";
import { LiveSparkline } from "@/components/charts/sparkline";
import { evenly } from "@/components/charts/widths";
import { ALL, metricKey } from "@/live/metric-keys";
import { GAP_S, type Series } from "@/live/series";
import { helpOf, metricParts, titled } from "@/metrics/registry";
import { KEY_FIGURES } from "@/metrics/views";
import classes from "./kpi-strip.module.css";

/** As many points as the server answers for a range; live ones are closer together than those of a long range. */
const POINTS = 600;
const FINEST_S = 0.5;

/** What is shown, in points of one width. */
function recent({ ring }: Series, key: string, range: number): (number | null)[] {
  const to = ring.lastTime;
  if (Number.isNaN(to)) return [];
  const step = Math.max(FINEST_S, range / POINTS);
  // why one point more: it tells how much the first one stands for.
  const first = Math.max(0, ring.firstIndex(to - range) - 1);
  return evenly(ring.readTimes(first), ring.read(key, first), { from: to - range, to, step, widest: GAP_S });
}

type KeyFigure = (typeof KEY_FIGURES)[number];

function Tile({ metric, series, scope, range }: { metric: KeyFigure; series: Series; scope: string; range: number }) {
  const { title, levels } = titled(metric);
  const key = metricKey(metric, scope);
  const value = useRef<HTMLSpanElement>(null);
  const unit = useRef<HTMLSpanElement>(null);
  const level = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      series.onDraw(() => {
        const parts = metricParts(metric, series.ring.last(key));
        if (value.current && value.current.textContent !== parts.value) value.current.textContent = parts.value;
        if (level.current && levels) {
          const from = series.ring.firstIndex(series.ring.lastTime - HOLD_S);
          const found = levelOf(series.ring.readTimes(from), series.ring.read(key, from), levels);
          level.current.textContent = found?.word ?? "";
          level.current.dataset["tone"] = found?.tone ?? "";
        }
        if (unit.current && unit.current.textContent !== parts.unit) unit.current.textContent = parts.unit;
      }),
    [metric, levels, series, key],
  );
  return (
    <div className={classes["tile"]} title={helpOf(metric)}>
      <div className={classes["label"]}>{title}</div>
      <div className={classes["value"]}>
        <span ref={value}>–</span>
        <span ref={unit} className={classes["unit"]} />
        {levels ? <span ref={level} className={classes["level"]} /> : null}
      </div>
      <LiveSparkline series={series} label={t`${title}, recent course`} read={() => recent(series, key, range)} />
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
    <section className={classes["strip"]} aria-label={t`Key figures`} data-dimmed={dimmed || undefined}>
      {KEY_FIGURES.map((metric) => (
        <Tile key={metric} metric={metric} series={series} scope={scope} range={range} />
      ))}
    </section>
  );
}
