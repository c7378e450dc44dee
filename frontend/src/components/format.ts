/**
 * Numbers and units as the studio shows them: three significant figures in the way of the language, a no-break space
 * before the unit, and "–" for what is not known (never 0).
 */

import { t } from "@lingui/core/macro";
import { currentLanguage } from "@/i18n/language";
import { calendarTime, zoneAt } from "./zone";

export const MISSING = "–";
/** Between a number and its unit: never breaks. (The typeface draws the thin one too thin to see at 12 px.) */
const GAP = "\u00a0";

type Value = number | null | undefined;

const known = (value: Value): value is number => value !== null && value !== undefined && Number.isFinite(value);

/** `formats[n]`: grouped, with n decimals. Kept, since making one costs more than a chart's whole legend. */
const formats = [0, 1, 2, 3].map(
  (decimals) => new Intl.NumberFormat(currentLanguage(), { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
);
type Decimals = 0 | 1 | 2 | 3;

/** With exactly so many decimals: 12,345.60. */
export const fixed = (value: number, decimals: Decimals): string => formats[decimals]?.format(value) ?? String(value);

/** Three significant figures with fixed decimals: 4.39, 10.7, 128, 1,932. */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.001) return value.toExponential(1);
  // why the half steps: 9.996 rounds to 10.0, which has one decimal fewer than 9.99.
  const decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fixed(value, decimals);
}

/** Counts are whole and grouped: 12,345. */
export function count(value: Value): string {
  return known(value) ? fixed(Math.round(value), 0) : MISSING;
}

/** `1 file`, `2 files`, `1,204 files`. */
export const counted = (value: number, one: string, many: string = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

export interface Measured {
  value: string;
  unit: string;
}

export const joined = ({ value, unit }: Measured): string => (unit ? `${value}${GAP}${unit}` : value);

const UNKNOWN: Measured = { value: MISSING, unit: "" };

/** A duration given in microseconds: µs below 1,000, ms below 1 s, s below 60 s, else min. */
export function durationParts(us: Value): Measured {
  if (!known(us)) return UNKNOWN;
  if (us < 999.5) return { value: us < 0.005 ? "0" : significant(us), unit: "µs" };
  if (us < 999_500) return { value: significant(us / 1e3), unit: "ms" };
  if (us < 59_950_000) return { value: significant(us / 1e6), unit: "s" };
  return { value: significant(us / 6e7), unit: "min" };
}

export const duration = (us: Value): string => joined(durationParts(us));
export const seconds = (value: Value): string => duration(known(value) ? value * 1e6 : null);

/** A rate: plain to 9,999, then k and M. `unit` is `inf/s` or `req/s`. */
export function rateParts(value: Value, unit: string): Measured {
  if (!known(value)) return UNKNOWN;
  if (value >= 999_500) return { value: `${significant(value / 1e6)}${GAP}M`, unit };
  if (value >= 10_000) return { value: `${significant(value / 1e3)}${GAP}k`, unit };
  return { value: value < 0.005 ? "0" : significant(value), unit };
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

export function bytesParts(value: Value): Measured {
  if (!known(value)) return UNKNOWN;
  let scaled = value;
  let step = 0;
  while (Math.abs(scaled) >= 1023.5 && step < BINARY.length - 1) {
    scaled /= 1024;
    step += 1;
  }
  return { value: step === 0 ? count(scaled) : significant(scaled), unit: BINARY[step] ?? "B" };
}

export const bytes = (value: Value): string => joined(bytesParts(value));

/** Decimal network speed. */
export const speed = (bytesPerSecond: Value): string =>
  known(bytesPerSecond) ? joined({ value: significant(bytesPerSecond / 1e6), unit: "MB/s" }) : MISSING;

/** A share of 1 as per cent: two decimals below 1, one below 10, none above; what is not all is never called 100. */
export function percentParts(share: Value): Measured {
  if (!known(share)) return UNKNOWN;
  const value = share * 100;
  if (value === 0) return { value: "0", unit: "%" };
  if (value >= 99.5 && value < 100) return { value: fixed(Math.min(value, 99.99), 2), unit: "%" };
  const decimals = Math.abs(value) < 0.995 ? 2 : Math.abs(value) < 9.95 ? 1 : 0;
  return { value: fixed(value, decimals), unit: "%" };
}

export const percent = (share: Value): string => joined(percentParts(share));

export const decimalParts = (value: Value): Measured => (known(value) ? { value: fixed(value, value < 99.95 ? 1 : 0), unit: "" } : UNKNOWN);

/** A shape in prose: `3 × 224 × 224`, with a variable axis as `-1 (any)` or its symbolic name. */
export function shape(dims: readonly (number | string)[]): string {
  if (dims.length === 0) return t`scalar`;
  return dims.map((dim) => (dim === -1 ? t`-1\u00a0(any)` : String(dim))).join(" × ");
}

const DATATYPE_BYTES: Record<string, number> = {
  BOOL: 1,
  INT8: 1,
  UINT8: 1,
  INT16: 2,
  UINT16: 2,
  FP16: 2,
  BF16: 2,
  INT32: 4,
  UINT32: 4,
  FP32: 4,
  INT64: 8,
  UINT64: 8,
  FP64: 8,
};

/** Bytes of one item of a tensor, or null when an axis is variable or the type has no fixed width. */
export function tensorBytes(datatype: string, dims: readonly (number | string)[]): number | null {
  const width = DATATYPE_BYTES[datatype];
  if (width === undefined) return null;
  let elements = 1;
  for (const dim of dims) {
    if (typeof dim !== "number" || dim < 0) return null;
    elements *= dim;
  }
  return elements * width;
}

const pad = (value: number) => String(value).padStart(2, "0");

/** `2026-11-21 14:02:11` in the zone that is shown (`zone.ts`). */
export function absoluteTime(iso: string | null | undefined): string {
  const at = iso ? new Date(iso) : null;
  if (!at || Number.isNaN(at.getTime())) return MISSING;
  const { year, month, day } = calendarTime(at);
  return `${year}-${pad(month)}-${pad(day)} ${clock(at)}`;
}

/** `2026-11-21 14:02:11 UTC+1`: where a time stands alone, its zone is named. */
export function zonedTime(iso: string | null | undefined): string {
  const text = absoluteTime(iso);
  return text === MISSING ? text : `${text} ${zoneAt(new Date(iso ?? ""))}`;
}

/** `14:02:11` in the zone that is shown. */
export function clock(at: Date | string): string {
  const when = typeof at === "string" ? new Date(at) : at;
  if (Number.isNaN(when.getTime())) return MISSING;
  const { hour, minute, second } = calendarTime(when);
  return `${pad(hour)}:${pad(minute)}:${pad(second)}`;
}

/** Under 24 h relative ("4 min ago"), else `2026-11-21 14:02`. `now` is in milliseconds. */
export function relativeTime(iso: string | null | undefined, now: number = Date.now()): string {
  const at = iso ? new Date(iso).getTime() : Number.NaN;
  if (Number.isNaN(at)) return MISSING;
  const age = Math.round((now - at) / 1000);
  if (age >= 86_400 || age < -60) return absoluteTime(iso).slice(0, 16);
  if (age < 5) return t`just now`;
  if (age < 60) return t`${age} s ago`;
  if (age < 3600) return t`${Math.floor(age / 60)} min ago`;
  return t`${Math.floor(age / 3600)} h ago`;
}

/** An age in seconds as "2 s ago". */
export function ageText(age: Value): string {
  if (!known(age)) return t`never`;
  if (age < 60) return t`${Math.round(age)}${GAP}s ago`;
  return age < 3600 ? t`${Math.floor(age / 60)}${GAP}min ago` : t`${Math.floor(age / 3600)}${GAP}h ago`;
}

/** How long something took, from two times; `end` null means until now. */
export function elapsed(start: string | null, end: string | null, now: number = Date.now()): string {
  if (!start) return "";
  const from = new Date(start).getTime();
  const to = end ? new Date(end).getTime() : now;
  return seconds(Math.max(0, (to - from) / 1000));
}

/** English without a comma before the last, as the studio writes. */
const LISTS = { en: "en-GB", de: "de" } as const;

/** Names in one sentence: `a, b and c`. */
export const listed = (names: readonly string[]): string => new Intl.ListFormat(LISTS[currentLanguage()]).format(names);
