/** A stretch of time as people type it. Pure. */
import { t } from "@lingui/core/macro";
import { LONGEST_S, rangeText, SHORTEST_S } from "@/app/time-range";
import { calendarTime, momentOf, showsUtc } from "./zone";

const LOCAL = /^(?:(\d{4})-(\d{1,2})-(\d{1,2}))?(?:(?:^|[ T])(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
/** ISO 8601 with its zone: that one counts, whatever is shown. */
const ZONED = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})$/i;
const DAY_S = 86_400;

/** Unix seconds; null for what is no time. `now` is in milliseconds; a clock without a day is of today. */
export function typedTime(text: string, now: number, utc: boolean = showsUtc()): number | null {
  const typed = text.trim();
  const zoned = ZONED.exec(typed);
  if (zoned) {
    // why by its parts: Date.parse takes 2026-02-30 for the second of March.
    if (typedTime(zoned[1]?.toUpperCase().replace(/\.\d+$/, "") ?? "", now, true) === null) return null;
    const at = Date.parse(typed.toUpperCase());
    return Number.isNaN(at) ? null : at / 1000;
  }
  const local = LOCAL.exec(typed);
  if (!local || typed === "") return null;
  const [, year, month, day, hour, minute, second] = local;
  const today = calendarTime(new Date(now), utc);
  const at = momentOf(
    {
      year: Number(year ?? today.year),
      month: Number(month ?? today.month),
      day: Number(day ?? today.day),
      hour: Number(hour ?? 0),
      minute: Number(minute ?? 0),
      second: Number(second ?? 0),
    },
    utc,
  );
  return at === null ? null : at.getTime() / 1000;
}

export type Typed = { range: string } | { field: "from" | "to"; message: string };

/** What goes into the address, or what is wrong. No end is now. */
export function typedRange(from: string, to: string, now: number, utc: boolean = showsUtc()): Typed {
  const noTime = (text: string) => t`"${text.trim()}" is no time. Expected 2026-11-27 14:00, 14:00 of today, or 2026-11-27T14:00:00Z.`;
  const start = typedTime(from, now, utc);
  if (start === null) return { field: "from", message: noTime(from) };
  const end = to.trim() === "" ? now / 1000 : typedTime(to, now, utc);
  if (end === null) return { field: "to", message: noTime(to) };
  if (start < 0) return { field: "from", message: t`This lies before 1970: nothing is measured from then.` };
  if (start * 1000 > now) return { field: "from", message: t`This lies ahead: nothing is measured yet.` };
  if (end <= start) return { field: "to", message: t`The end has to come after the beginning.` };
  if (end - start < SHORTEST_S) return { field: "to", message: t`${Math.floor(end - start)} s are too short: at least ${SHORTEST_S} s.` };
  if (end - start > LONGEST_S) {
    return { field: "from", message: t`${Math.ceil((end - start) / DAY_S)} days are too long: at most ${LONGEST_S / DAY_S} days.` };
  }
  return { range: rangeText(start, end) };
}
