/** What an axis measures: the text of a value, and one unit for all ticks of an axis. */
import {
  bytesParts,
  count,
  decimalParts,
  durationParts,
  joined,
  type Measured,
  MISSING,
  percentParts,
  rateParts,
  significant,
} from "../format";
import { currentLanguage } from "@/i18n/language";

export type Unit = "duration" | "inf/s" | "req/s" | "errors/s" | "bytes" | "bytes/s" | "percent" | "count" | "decimal" | "°C" | "W";

const GAP = "\u00a0";

export function valueParts(unit: Unit, value: number | null): Measured {
  switch (unit) {
    case "duration":
      return durationParts(value);
    case "bytes":
      return bytesParts(value);
    case "bytes/s":
      return value === null ? { value: MISSING, unit: "" } : scaledParts(value, SPEED);
    case "percent":
      return percentParts(value);
    case "count":
      return { value: count(value), unit: "" };
    case "decimal":
      return decimalParts(value);
    case "errors/s":
      return rateParts(value, "/s");
    case "°C":
    case "W":
      return { value: count(value), unit: value === null ? "" : unit };
    default:
      return rateParts(value, unit);
  }
}

export const valueText = (unit: Unit, value: number | null): string => joined(valueParts(unit, value));

type Step = readonly [size: number, divisor: number, unit: string];

const DURATION: readonly Step[] = [
  [6e7, 6e7, "min"],
  [1e6, 1e6, "s"],
  [1e3, 1e3, "ms"],
  [0, 1, "µs"],
];
const BYTES: readonly Step[] = [
  [2 ** 40, 2 ** 40, "TiB"],
  [2 ** 30, 2 ** 30, "GiB"],
  [2 ** 20, 2 ** 20, "MiB"],
  [2 ** 10, 2 ** 10, "KiB"],
  [0, 1, "B"],
];
const SPEED: readonly Step[] = [
  [1e9, 1e9, "GB/s"],
  [1e6, 1e6, "MB/s"],
  [1e3, 1e3, "kB/s"],
  [0, 1, "B/s"],
];
const PLAIN: readonly Step[] = [
  [1e6, 1e6, "M"],
  [1e4, 1e3, "k"],
  [0, 1, ""],
];

const TICK = new Intl.NumberFormat(currentLanguage());
const TICK_PERCENT = new Intl.NumberFormat(currentLanguage(), { maximumSignificantDigits: 3 });

function scaledParts(value: number, steps: readonly Step[]): Measured {
  const [, divisor, unit] = steps.find(([size]) => Math.abs(value) >= size) ?? [0, 1, ""];
  return { value: significant(value / divisor), unit };
}

function scaled(ticks: readonly number[], steps: readonly Step[]): string[] {
  const top = Math.max(0, ...ticks.map(Math.abs));
  const [, divisor, unit] = steps.find(([size]) => top >= size) ?? [0, 1, ""];
  return ticks.map((tick) => {
    if (tick === 0) return "0";
    const text = TICK.format(Number((tick / divisor).toPrecision(4)));
    return unit ? text + GAP + unit : text;
  });
}

/** Labels of an axis: the unit is chosen by the top tick, and 0 has none. */
export function axisText(unit: Unit, ticks: readonly number[]): string[] {
  if (unit === "duration") return scaled(ticks, DURATION);
  if (unit === "bytes") return scaled(ticks, BYTES);
  if (unit === "bytes/s") return scaled(ticks, SPEED);
  if (unit === "percent") return ticks.map((tick) => (tick === 0 ? "0" : `${TICK_PERCENT.format(tick * 100)}${GAP}%`));
  return scaled(ticks, PLAIN);
}

const powers = (base: number, factors: readonly number[], from: number, to: number): number[] => {
  const steps: number[] = [];
  for (let power = from; power <= to; power += 1) for (const factor of factors) steps.push(factor * base ** power);
  return steps;
};

/** Distances between ticks that read well in the unit. */
export const TICK_STEPS: Record<Unit, number[]> = {
  duration: powers(10, [1, 2, 5], -1, 9),
  bytes: powers(2, [1], 0, 46),
  "bytes/s": powers(10, [1, 2, 5], 0, 12),
  percent: powers(10, [1, 2.5, 5], -5, 1),
  "inf/s": powers(10, [1, 2, 5], -2, 8),
  "req/s": powers(10, [1, 2, 5], -2, 8),
  "errors/s": powers(10, [1, 2, 5], -2, 8),
  count: powers(10, [1, 2, 5], 0, 12),
  decimal: powers(10, [1, 2, 5], -1, 6),
  "°C": powers(10, [1, 2, 5], 0, 3),
  W: powers(10, [1, 2, 5], 0, 6),
};

/** The lowest top of an axis: an idle chart shows a quiet line at 0, not noise blown up. */
export const MINIMUM_TOP: Record<Unit, number> = {
  duration: 100,
  bytes: 2 ** 20,
  "bytes/s": 1000,
  percent: 0.01,
  "inf/s": 1,
  "req/s": 1,
  "errors/s": 1,
  count: 4,
  decimal: 1,
  "°C": 10,
  W: 10,
};
