import { describe, expect, test } from "vitest";
import { parseRange } from "@/app/time-range";
import { typedRange, typedTime } from "./typed-range";

const NOW = Date.UTC(2026, 10, 27, 14, 30);
const at = (...parts: [number, number, number, number?, number?, number?]) =>
  Date.UTC(parts[0], parts[1] - 1, parts[2], parts[3] ?? 0, parts[4] ?? 0, parts[5] ?? 0) / 1000;

describe("a time that is typed", () => {
  test.each<[string, number | null]>([
    ["2026-11-27 14:00", at(2026, 11, 27, 14)],
    [" 2026-11-27 14:00:05 ", at(2026, 11, 27, 14, 0, 5)],
    ["2026-11-27T14:00", at(2026, 11, 27, 14)],
    ["2026-11-27", at(2026, 11, 27)],
    ["2026-3-1 9:05", at(2026, 3, 1, 9, 5)],
    ["13:15", at(2026, 11, 27, 13, 15)],
    ["2026-11-27T14:00:00Z", at(2026, 11, 27, 14)],
    ["2026-11-27t14:00z", at(2026, 11, 27, 14)],
    ["2026-11-27T14:00:00.5+01:00", at(2026, 11, 27, 13) + 0.5],
    ["2026-11-27T14:00:00-03:30", at(2026, 11, 27, 17, 30)],
    ["", null],
    ["yesterday", null],
    ["2026-02-30", null],
    ["2026-02-30T10:00:00Z", null],
    ["2026-11-27 25:00", null],
    ["24:00", null],
    ["14", null],
    ["2026-11-2714:00", null],
    ["2026-11-27 14:00 x", null],
    ["27.11.2026", null],
  ])("%s", (text, expected) => expect(typedTime(text, NOW, true)).toBe(expected));

  test("is of the zone that is shown", () => {
    const local = new Date(2026, 10, 27, 14, 0).getTime() / 1000;
    expect(typedTime("2026-11-27 14:00", NOW, false)).toBe(local);
  });
});

describe("a range that is typed", () => {
  test.each([
    ["2026-11-27 13:00", "2026-11-27 14:00", at(2026, 11, 27, 13), at(2026, 11, 27, 14)],
    ["13:00", "", at(2026, 11, 27, 13), NOW / 1000],
    ["2026-10-28 14:30", "2026-11-27 14:30", at(2026, 10, 28, 14, 30), NOW / 1000],
    // Before March 1973 Unix seconds have fewer digits.
    ["1973-03-03 09:00", "1973-03-03 10:00", at(1973, 3, 3, 9), at(1973, 3, 3, 10)],
    ["1970-01-01", "1970-01-01 00:00:30", 0, 30],
  ])("%s to %s goes into the address", (from, to, start, end) => {
    const typed = typedRange(from, to, NOW, true);
    expect(typed).toEqual({ range: `${start}..${end}` });
    expect(parseRange("range" in typed ? typed.range : "")).toMatchObject({ kind: "fixed", from: start, to: end });
  });

  test.each([
    ["noon", "", "from", /^"noon" is no time/],
    ["", "14:00", "from", /is no time/],
    ["13:00", "late", "to", /^"late" is no time/],
    ["15:00", "16:00", "from", /lies ahead/],
    ["1969-12-31 23:59:59", "1970-01-01 01:00", "from", /before 1970/],
    ["14:00", "13:00", "to", /after the beginning/],
    ["14:00", "14:00", "to", /after the beginning/],
    ["14:00:00", "14:00:09", "to", /^9 s are too short: at least 10 s/],
    ["2026-10-01", "2026-11-27", "from", /^57 days are too long: at most 30 days/],
  ])("%s to %s is refused at its field", (from, to, field, message) => {
    const typed = typedRange(from, to, NOW, true);
    expect(typed).toMatchObject({ field });
    expect("message" in typed ? typed.message : "").toMatch(message);
  });
});
