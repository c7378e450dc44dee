/** Where the runs of a tuning lie in its picture. Pure. */
import type { Tuning, TuningRun } from "@/api/types";
import { type Frame, type Scales, scalesTo } from "../load/curve";
import { sameSetting } from "./words";

export interface Mark {
  run: TuningRun;
  x: number;
  y: number;
  today: boolean;
}

export interface Picture {
  scales: Scales;
  marks: Mark[];
  /** Through those that no other beats. */
  path: string;
}

/** What could not be measured has no place. */
export function pictureOf(tuning: Tuning, frame: Frame): Picture {
  const known = tuning.runs.flatMap((run) =>
    run.error || run.throughput === null || run.latency_us === null ? [] : [{ run, throughput: run.throughput, latency: run.latency_us }],
  );
  const slo = tuning.slo_ms === null ? null : tuning.slo_ms * 1000;
  const scales = scalesTo(
    known.map((one) => one.throughput),
    known.map((one) => one.latency),
    slo,
    frame,
  );
  const marks = known.map(({ run, throughput, latency }) => ({
    run,
    x: scales.x(throughput),
    y: scales.y(latency),
    today: sameSetting(run.setting, tuning.now),
  }));
  const path = marks
    .filter((mark) => mark.run.frontier)
    .toSorted((one, other) => one.x - other.x)
    .map((mark, index) => `${index === 0 ? "M" : "L"}${mark.x.toFixed(1)} ${mark.y.toFixed(1)}`)
    .join(" ");
  return { scales, marks, path };
}
