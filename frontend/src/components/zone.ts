/** In which zone times are shown: the browser's, or UTC where one has chosen so in the profile. The API always speaks UTC. */

const KEY = "shoal.utc";

// why the guard: unit tests run where there is no browser.
export const showsUtc = (): boolean => typeof localStorage !== "undefined" && localStorage.getItem(KEY) === "1";
export const setShowsUtc = (utc: boolean): void => localStorage.setItem(KEY, utc ? "1" : "0");

export interface CalendarTime {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

export function calendarTime(at: Date, utc: boolean = showsUtc()): CalendarTime {
  return utc
    ? {
        year: at.getUTCFullYear(),
        month: at.getUTCMonth() + 1,
        day: at.getUTCDate(),
        hour: at.getUTCHours(),
        minute: at.getUTCMinutes(),
        second: at.getUTCSeconds(),
      }
    : {
        year: at.getFullYear(),
        month: at.getMonth() + 1,
        day: at.getDate(),
        hour: at.getHours(),
        minute: at.getMinutes(),
        second: at.getSeconds(),
      };
}

/** The first moment of a day; days beyond the month's end run on into the next. */
export const dayStart = (year: number, month: number, day: number, utc: boolean = showsUtc()): Date =>
  utc ? new Date(Date.UTC(year, month - 1, day)) : new Date(year, month - 1, day);

/** The moment that a calendar and a clock of the zone show; null where they never do (2026-02-30, 25:00, an hour that summer time leaves out). */
export function momentOf(shown: CalendarTime, utc: boolean = showsUtc()): Date | null {
  const { year, month, day, hour, minute, second } = shown;
  const at = utc ? new Date(Date.UTC(year, month - 1, day, hour, minute, second)) : new Date(year, month - 1, day, hour, minute, second);
  const found = calendarTime(at, utc);
  return (Object.keys(shown) as (keyof CalendarTime)[]).every((part) => found[part] === shown[part]) ? at : null;
}

/** `UTC+1`, `UTC-3:30`, `UTC`: the offset of that moment, since summer differs. `minutes` as `Date.getTimezoneOffset` has them. */
export function offsetName(minutes: number): string {
  const ahead = Math.abs(minutes);
  if (ahead === 0) return "UTC";
  const rest = ahead % 60;
  return `UTC${minutes < 0 ? "+" : "-"}${Math.floor(ahead / 60)}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

export const zoneAt = (at: Date, utc: boolean = showsUtc()): string => (utc ? "UTC" : offsetName(at.getTimezoneOffset()));

/** Of the present moment. */
export const zoneNow = (): string => zoneAt(new Date());

/** `Europe/Berlin, UTC+1`, or `UTC` where the browser's zone is just that. */
export function namedZone(name: string, offset: string): string {
  return name === offset ? name : `${name}, ${offset}`;
}

export const browserZone = (): string => namedZone(new Intl.DateTimeFormat().resolvedOptions().timeZone, zoneAt(new Date(), false));
