/** What keys do in a chart: a cursor that goes point by point, and a selection between two of them. Pure. */

export interface Reading {
  /** Unix seconds of the point that is read, or null where the newest is followed. */
  at: number | null;
  /** Where a selection begins. */
  anchor: number | null;
}

type Does =
  | { kind: "nothing" }
  /** Another point is read. */
  | { kind: "moved" }
  | { kind: "began" }
  | { kind: "dropped" }
  | { kind: "selected"; from: number; to: number }
  | { kind: "back" };

export interface Pressed {
  reading: Reading;
  does: Does;
}

export const NOT_READING: Reading = { at: null, anchor: null };
const BY_TEN = 10;

/** The first point at or after a moment; the last where there is none. */
export function indexAt(times: readonly number[], at: number): number {
  const found = times.findIndex((time) => time >= at);
  return found === -1 ? times.length - 1 : found;
}

/** Null for keys that are not the chart's. `times` are the points in view. */
export function press(reading: Reading, key: string, shift: boolean, times: readonly number[]): Pressed | null {
  const last = times.length - 1;
  const index = reading.at === null ? last : indexAt(times, reading.at);
  const goTo = (next: number): Pressed => ({
    reading: { ...reading, at: times[Math.max(0, Math.min(last, next))] ?? null },
    does: last < 0 ? { kind: "nothing" } : { kind: "moved" },
  });
  const by = shift ? BY_TEN : 1;
  switch (key) {
    case "ArrowLeft":
      // why not further at first: what is announced first is the point that the legend shows.
      return goTo(reading.at === null && !shift ? last : index - by);
    case "ArrowRight":
      return goTo(index + by);
    case "Home":
      return goTo(0);
    case "End":
      return goTo(last);
    case "Enter":
      if (last < 0) return { reading, does: { kind: "nothing" } };
      if (reading.anchor === null) {
        const at = times[index] ?? null;
        return { reading: { at, anchor: at }, does: { kind: "began" } };
      }
      if (reading.at === null || reading.at === reading.anchor) return { reading: { ...reading, anchor: null }, does: { kind: "dropped" } };
      return {
        reading: NOT_READING,
        does: { kind: "selected", from: Math.min(reading.at, reading.anchor), to: Math.max(reading.at, reading.anchor) },
      };
    case "Escape":
      return reading.anchor === null
        ? { reading: NOT_READING, does: { kind: "back" } }
        : { reading: { ...reading, anchor: null }, does: { kind: "dropped" } };
    default:
      return null;
  }
}
