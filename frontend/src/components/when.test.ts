import { describe, expect, it } from "vitest";
import { isWhen, whenBounds, whenDays } from "./when";

const NOW = Date.UTC(2026, 10, 21, 12);

describe("a stretch of days in the address", () => {
  it.each(["1h", "30d", "2026-11-01..2026-11-05", "2026-11-01..", "..2026-11-05", "2026-11-01..2026-11-01"])("%s is one", (text) =>
    expect(isWhen(text)).toBe(true),
  );
  it.each([undefined, "", "2h", "..", "2026-11-05..2026-11-01", "2026-02-30..", "2026-11-01", "a..b", "1..2..3"])("%s is none", (text) =>
    expect(isWhen(text)).toBe(false),
  );
  it("looks back from now", () => expect(whenBounds("24h", NOW)).toEqual({ since: "2026-11-20T12:00:00.000Z" }));
  it("includes its last day", () => {
    const { since, until } = whenBounds("2026-11-01..2026-11-05", NOW);
    expect(since).toBe(new Date(2026, 10, 1).toISOString());
    expect(until).toBe(new Date(2026, 10, 6).toISOString());
  });
  it("may be open at either end", () => {
    expect(whenBounds("2026-11-01..", NOW).until).toBeUndefined();
    expect(whenBounds("..2026-12-31", NOW)).toEqual({ until: new Date(2027, 0, 1).toISOString() });
  });
  it("asks for everything where nothing is said", () => expect(whenBounds(undefined, NOW)).toEqual({}));
  it("keeps open ends apart", () => expect(whenDays("..2026-11-05")).toEqual({ from: "", to: "2026-11-05" }));
});
