/** Where the runs of a tuning, and what is said of them, lie in its picture. Pure. */
import type { Tuning, TuningRun } from "@/api/types";
import { type Frame, type Scales, ticksTo } from "../load/curve";
import { sameSetting } from "./words";

const STEPS = [1, 2, 5];
const MOST_TICKS = 7;
/** So much is left free to the right of the farthest. */
const ROOM = 1.08;
/** An objective is in view where it is within so many times of what was measured. */
const NEAR = 4;

/** Round numbers of which the first is at or below `least`, the last at or above `most`, each about twice the one before; or ten times. */
export function logTicks(least: number, most: number): number[] {
  if (!(least > 0) || !Number.isFinite(most)) return [1, 10];
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most)) + 1];
  const between = (steps: number[]) => {
    const all = Array.from({ length: last - first + 1 }, (_, index) => first + index).flatMap((power) =>
      steps.map((step) => Number((step * 10 ** power).toPrecision(9))),
    );
    const from = all.findLastIndex((tick) => tick <= least);
    const to = all.findIndex((tick, index) => tick >= most && index > from);
    return all.slice(from, to + 1);
  };
  const fine = between(STEPS);
  return fine.length > MOST_TICKS ? between([1]) : fine;
}

export interface Mark {
  run: TuningRun;
  x: number;
  y: number;
  today: boolean;
}

export interface Picture {
  /** Latencies by their logarithm: one slow configuration would press all others flat. */
  scales: Scales;
  marks: Mark[];
  /** Through those that no other beats. */
  path: string;
  /** Of the objective, where it is near enough to be in view. */
  slo: number | null;
}

/** What could not be measured has no place. */
export function pictureOf(tuning: Tuning, frame: Frame): Picture {
  const known = tuning.runs.flatMap((run) =>
    run.error || run.throughput === null || run.latency_us === null ? [] : [{ run, throughput: run.throughput, latency: run.latency_us }],
  );
  const latencies = known.map((one) => one.latency);
  const [least, most] = [Math.min(...latencies), Math.max(...latencies)];
  const limit = tuning.slo_ms === null ? Number.NaN : tuning.slo_ms * 1000;
  const near = limit <= most * NEAR && limit * NEAR >= least;
  const yTicks = near ? logTicks(Math.min(least, limit), Math.max(most, limit)) : logTicks(least, most);
  const xTicks = ticksTo(Math.max(0, ...known.map((one) => one.throughput)) * ROOM);
  const [low, high] = [Math.log(yTicks[0] ?? 1), Math.log(yTicks.at(-1) ?? 10)];
  const x = (throughput: number) => frame.left + (throughput / (xTicks.at(-1) ?? 1)) * frame.width;
  const y = (us: number) => frame.top + frame.height - ((Math.log(us) - low) / (high - low)) * frame.height;
  const marks = known.map(({ run, throughput, latency }) => ({
    run,
    x: x(throughput),
    y: y(latency),
    today: sameSetting(run.setting, tuning.now),
  }));
  const path = marks
    .filter((mark) => mark.run.frontier)
    .toSorted((one, other) => one.x - other.x)
    .map((mark, index) => `${index === 0 ? "M" : "L"}${mark.x.toFixed(1)} ${mark.y.toFixed(1)}`)
    .join(" ");
  return { scales: { xTicks, yTicks, x, y }, marks, path, slo: near ? y(limit) : null };
}

export interface Label {
  x: number;
  y: number;
  textAnchor: "start" | "middle" | "end";
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const LETTER = 6.4;
const LINE = 13;
/** A mark is kept clear by so much to each side. */
const DOT = 7;

const boxOf = ({ x, y, textAnchor }: Label, text: string): Box => {
  const width = text.length * LETTER;
  const left = textAnchor === "start" ? x : textAnchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y - LINE + 3, bottom: y + 3 };
};

const overlap = (one: Box, other: Box): boolean =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** A place for each text, the first ones first, over no mark and no other text; undefined where there is none. Below to the right of the frontier nothing lies. */
export function placeLabels(wanted: readonly { mark: Mark; text: string }[], marks: readonly Mark[], frame: Frame): (Label | undefined)[] {
  const taken: Box[] = marks.map(({ x, y }) => ({ left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT }));
  return wanted.map(({ mark: { x, y }, text }) => {
    const places: Label[] = [
      { x: x + 9, y: y + 19, textAnchor: "start" },
      { x, y: y - 12, textAnchor: "middle" },
      { x: x - 9, y: y + 19, textAnchor: "end" },
      { x: x - 9, y: y - 12, textAnchor: "end" },
      { x: x + 9, y: y - 12, textAnchor: "start" },
    ];
    const place = places.find((one) => {
      const box = boxOf(one, text);
      const inside = box.left >= frame.left && box.right <= frame.left + frame.width && box.bottom <= frame.top + frame.height;
      return inside && !taken.some((other) => overlap(box, other));
    });
    if (place) taken.push(boxOf(place, text));
    return place;
  });
}
