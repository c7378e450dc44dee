/** From when on a value is called high: for a minute, not for a moment. Pure. */

export interface Level {
  /** In the unit of the chart. */
  at: number;
  word: string;
  tone: "warn" | "error";
}

/** Seconds for which a value must stay above a level. */
export const HOLD_S = 60;
/** So much of the time may lack at its beginning: timers are not exact. */
const SLACK_S = 3;

/** The highest level that the newest minute stays above; gaps say nothing. Points that are wider than a minute stand alone. */
export function levelOf(times: readonly number[], values: readonly (number | null)[], levels: readonly Level[]): Level | null {
  const end = times[times.length - 1];
  if (end === undefined) return null;
  const step = end - (times[times.length - 2] ?? Number.NEGATIVE_INFINITY);
  let least = Number.POSITIVE_INFINITY;
  let first = Number.POSITIVE_INFINITY;
  for (let index = times.length - 1; index >= 0; index -= 1) {
    const [time, value] = [times[index] ?? end, values[index] ?? null];
    if (time <= end - Math.max(HOLD_S, step)) break;
    if (value === null) continue;
    least = Math.min(least, value);
    first = time;
  }
  if (first - step > end - HOLD_S + SLACK_S) return null;
  return levels.reduce<Level | null>((found, level) => (least > level.at && level.at > (found?.at ?? -1) ? level : found), null);
}

export function worse(a: Level | null, b: Level | null): Level | null {
  if (a === null || b === null) return a ?? b;
  return b.at > a.at ? b : a;
}
