import { describe, expect, it } from "vitest";
import { calendarTime, dayStart, namedZone, offsetName, zoneAt } from "./zone";

describe("zones", () => {
  it.each([
    [0, "UTC"],
    [-60, "UTC+1"],
    [-330, "UTC+5:30"],
    [210, "UTC-3:30"],
    [480, "UTC-8"],
  ])("%d minutes are %s", (minutes, name) => expect(offsetName(minutes)).toBe(name));
  it("reads the clock of UTC where one wants it", () => {
    const at = new Date("2026-11-21T23:05:09Z");
    expect(calendarTime(at, true)).toEqual({ year: 2026, month: 11, day: 21, hour: 23, minute: 5, second: 9 });
    expect(zoneAt(at, true)).toBe("UTC");
  });
  it("says UTC once", () => {
    expect(namedZone("UTC", "UTC")).toBe("UTC");
    expect(namedZone("Europe/Berlin", "UTC+1")).toBe("Europe/Berlin, UTC+1");
  });
  it("starts days in the zone that is shown", () => {
    expect(dayStart(2026, 11, 31, true).toISOString()).toBe("2026-12-01T00:00:00.000Z");
    expect(dayStart(2026, 11, 21, false)).toEqual(new Date(2026, 10, 21));
  });
});
