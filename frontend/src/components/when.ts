/** A stretch of days in the address: `24h` looks back from now, `2026-11-01..2026-11-05` are whole days of the zone that is shown. */
import { t } from "@lingui/core/macro";
import { calendarTime, dayStart } from "./zone";

export const WHEN_PRESETS = ["1h", "24h", "7d", "30d"] as const;
export type WhenPreset = (typeof WHEN_PRESETS)[number];

export const WHEN_WORDS: Record<WhenPreset, string> = {
  "1h": t`Last hour`,
  "24h": t`Last 24 hours`,
  "7d": t`Last 7 days`,
  "30d": t`Last 30 days`,
};
const HOURS: Record<WhenPreset, number> = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 };
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

export interface Days {
  /** `2026-11-01`; an empty text is open. */
  from: string;
  to: string;
}

/** Midnight at the start of a day, in the zone that is shown; null for what is no day (2026-02-30). */
function midnight(text: string, plus = 0): Date | null {
  const match = DAY.exec(text);
  if (!match) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const found = calendarTime(dayStart(year, month, day));
  if (found.month !== month || found.day !== day) return null;
  // why by the calendar: a day has 23 or 25 hours twice a year.
  return dayStart(year, month, day + plus);
}

export const whenPreset = (text: string | undefined): WhenPreset | null => WHEN_PRESETS.find((one) => one === text) ?? null;

/** Null for what is neither open at one end nor two days in order. */
export function whenDays(text: string | undefined): Days | null {
  const parts = (text ?? "").split("..");
  if (parts.length !== 2) return null;
  const [from = "", to = ""] = parts;
  if (from === "" && to === "") return null;
  if ((from !== "" && !midnight(from)) || (to !== "" && !midnight(to))) return null;
  return from !== "" && to !== "" && from > to ? null : { from, to };
}

export const isWhen = (text: string | undefined): text is string => whenPreset(text) !== null || whenDays(text) !== null;

/** What the server is asked for; `until` is not included. `now` is in milliseconds. */
export function whenBounds(text: string | undefined, now: number = Date.now()): { since?: string; until?: string } {
  const preset = whenPreset(text);
  if (preset) return { since: new Date(now - HOURS[preset] * 3_600_000).toISOString() };
  const days = whenDays(text);
  const since = midnight(days?.from ?? "")?.toISOString();
  const until = midnight(days?.to ?? "", 1)?.toISOString();
  return { ...(since ? { since } : {}), ...(until ? { until } : {}) };
}
