import { describe, expect, it } from "vitest";
import { expiryOf, LIFETIMES, tokenEnd } from "./token-choices";

const NOW = Date.UTC(2026, 0, 1);

describe("a token's end", () => {
  it.each([
    ["1", "2026-01-02T00:00:00.000Z"],
    ["365", "2027-01-01T00:00:00.000Z"],
    ["never", null],
  ])("%s", (days, iso) => expect(expiryOf(days, NOW)).toBe(iso));
  it("is what each choice says", () =>
    expect(LIFETIMES.filter(({ value }) => expiryOf(value, NOW) === null).map(({ label }) => label)).toEqual(["Until revoked"]));
  it.each([
    [null, "open"],
    ["2026-01-07T23:00:00Z", "soon"],
    ["2026-01-09T00:00:00Z", "later"],
    ["2025-12-01T00:00:00Z", "past"],
  ])("%s is %s", (iso, end) => expect(tokenEnd(iso, NOW)).toBe(end));
});
