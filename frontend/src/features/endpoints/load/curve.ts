/** Throughput against latency, as places in a picture. Pure. */
import { t } from "@lingui/core/macro";
import type { LoadSweepPoint } from "@/api/types";

export const LATENCIES = ["p50", "p90", "p95", "p99"] as const;
export type Latency = (typeof LATENCIES)[number];

export const latencyOf = (point: LoadSweepPoint, which: Latency): number => point[`${which}_us`];

const STEPS = [1, 2, 5, 10];
const TICKS = 5;
/** So much is left free above the highest. */
const ROOM = 1.08;

/** Round numbers from 0 on, of which the last is at or above `top`. */
export function ticksTo(top: number): number[] {
  if (!(top > 0) || !Number.isFinite(top)) return [0, 1];
  const rough = top / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((one) => one * power >= rough) ?? 10);
  const count = Math.ceil(Number((top / step).toPrecision(9)));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(9)));
}

export interface Frame {
  width: number;
  height: number;
  left: number;
  top: number;
}

export interface Scales {
  xTicks: number[];
  yTicks: number[];
  x: (throughput: number) => number;
  y: (us: number) => number;
}

/** One pair of scales for all curves; `slo` (µs) is in view where it is within reach of the points. */
export function scalesOf(curves: readonly (readonly LoadSweepPoint[])[], which: Latency, slo: number | null, frame: Frame): Scales {
  const points = curves.flat().filter((point) => point.good > 0);
  const highest = Math.max(0, ...points.map((point) => latencyOf(point, which)));
  // why not always: a limit of a second would press answers of a millisecond flat
  const within = slo !== null && slo <= highest * 4 ? slo : 0;
  const xTicks = ticksTo(Math.max(0, ...points.map((point) => point.throughput)) * ROOM);
  const yTicks = ticksTo(Math.max(highest, within) * ROOM);
  const farthest = xTicks.at(-1) ?? 1;
  const most = yTicks.at(-1) ?? 1;
  return {
    xTicks,
    yTicks,
    x: (throughput) => frame.left + (throughput / farthest) * frame.width,
    y: (us) => frame.top + frame.height - (us / most) * frame.height,
  };
}

/** Through the points in the order of their levels, those without an answer left out. */
export function pathOf(points: readonly LoadSweepPoint[], which: Latency, scales: Scales): string {
  return points
    .filter((point) => point.good > 0)
    .map(
      (point, index) =>
        `${index === 0 ? "M" : "L"}${scales.x(point.throughput).toFixed(1)} ${scales.y(latencyOf(point, which)).toFixed(1)}`,
    )
    .join(" ");
}

/** `1, 2, 4`, `1..32` (doubling), `8:64:8`: rising levels, or what is wrong with the text. */
export function readLevels(text: string): { ok: true; levels: number[] } | { ok: false; error: string } {
  const found = new Set<number>();
  for (const part of text.split(",").map((word) => word.trim())) {
    const ends = part.split("..").map((word) => (word.trim() === "" ? Number.NaN : Number(word)));
    const range = part.split(":").map(Number);
    if (ends.length === 2) {
      const [first = Number.NaN, last = Number.NaN] = ends;
      found.add(first);
      for (let level = first; level > 0 && level < last && found.size < 64; level *= 2) found.add(level);
      found.add(last);
    } else if (range.length === 3 && (range[2] ?? 0) > 0) {
      const [first = 0, last = 0, step = 1] = range;
      for (let level = first; level <= last && found.size < 64; level += step) found.add(level);
    } else found.add(part === "" ? Number.NaN : Number(part));
  }
  const levels = [...found].toSorted((one, other) => one - other);
  if (levels.some((level) => !(level > 0) || !Number.isFinite(level))) return { ok: false, error: t`Expected 1, 2, 4 or 1..32 or 8:64:8` };
  if (levels.length > 32) return { ok: false, error: t`${levels.length} levels, expected at most 32` };
  return { ok: true, levels };
}
