/** A line without axes, drawn as one SVG path that is changed in place. */
import { useEffect, useRef } from "react";
import type { Series } from "@/live/series";
import classes from "./charts.module.css";

const WIDTH = 120;
const HEIGHT = 22;
const BUCKETS = 60;

/** Lowest and highest value of each bucket, so that a spike is never averaged away. */
export function thin(values: readonly (number | null)[], buckets: number): (number | null)[] {
  if (values.length <= buckets * 2) return [...values];
  const out: (number | null)[] = [];
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const from = Math.floor((bucket * values.length) / buckets);
    const to = Math.floor(((bucket + 1) * values.length) / buckets);
    let low: number | null = null;
    let high: number | null = null;
    for (let i = from; i < to; i += 1) {
      const value = values[i];
      if (value === null || value === undefined) continue;
      if (low === null || value < low) low = value;
      if (high === null || value > high) high = value;
    }
    out.push(low, high);
  }
  return out;
}

/** SVG path of a series scaled to the box; gaps lift the pen. */
export function sparkPath(values: readonly (number | null)[]): string {
  let top = 0;
  let bottom = Number.POSITIVE_INFINITY;
  for (const value of values) {
    if (value === null) continue;
    if (value > top) top = value;
    if (value < bottom) bottom = value;
  }
  if (bottom === Number.POSITIVE_INFINITY) return "";
  // why: a steady value must look steady, so the scale never shows less than the lower half of the range.
  const floor = Math.min(bottom, top * 0.5);
  const span = top - floor || 1;
  const step = values.length > 1 ? WIDTH / (values.length - 1) : 0;
  let path = "";
  let pen = false;
  values.forEach((value, index) => {
    if (value === null) {
      pen = false;
      return;
    }
    const y = HEIGHT - 2 - ((value - floor) / span) * (HEIGHT - 4);
    path += `${pen ? "L" : "M"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  });
  return path;
}

/** From numbers that React already has. */
export function Sparkline({ values, label }: { values: readonly (number | null)[]; label: string }) {
  return (
    <svg className={classes["spark"]} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={sparkPath(thin(values, BUCKETS))} />
    </svg>
  );
}

/** From a live series. `read` gives the values to draw. */
export function LiveSparkline({ series, read, label }: { series: Series; read: () => (number | null)[]; label: string }) {
  const path = useRef<SVGPathElement>(null);
  const reader = useRef(read);
  useEffect(() => {
    reader.current = read;
    series.redraw();
  }, [read, series]);
  useEffect(() => series.onDraw(() => path.current?.setAttribute("d", sparkPath(thin(reader.current(), BUCKETS)))), [series]);
  return (
    <svg className={classes["spark"]} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path ref={path} d="" />
    </svg>
  );
}
