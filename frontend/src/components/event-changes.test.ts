import { describe, expect, it } from "vitest";
import { differences, readEvent, valueText } from "./event-changes";

describe("what an event changed", () => {
  it("is found at the deepest names", () =>
    expect(differences({ a: 1, b: { c: 2, d: 3 }, gone: 1 }, { a: 1, b: { c: 2, d: 4 }, now: [1] })).toEqual([
      { path: "b.d", before: 3, after: 4 },
      { path: "gone", before: 1, after: undefined },
      { path: "now", before: undefined, after: [1] },
    ]));
  it("reads before and after", () =>
    expect(readEvent({ before: { role: "viewer", active: true }, after: { role: "admin", active: true }, by: "x" })).toEqual({
      changes: [{ path: "role", before: "viewer", after: "admin" }],
      facts: [["by", "x"]],
    }));
  it("reads a value beside its before", () =>
    expect(readEvent({ operation: "o1", traffic: { blue: 90, green: 10 }, before: { blue: 100 } })).toEqual({
      changes: [
        { path: "traffic.blue", before: 100, after: 90 },
        { path: "traffic.green", before: undefined, after: 10 },
      ],
      facts: [["operation", "o1"]],
    }));
  it.each([
    // as PostgreSQL orders names: the shorter ones first
    [{ alias: "production", before: 2, version: 3 }, { path: "version", before: 2, after: 3 }, [["alias", "production"]]],
    [{ alias: "production", before: null, version: 1 }, { path: "version", before: null, after: 1 }, [["alias", "production"]]],
    [{ before: [], operation: "o1", traffic_rules: [1] }, { path: "traffic_rules", before: [], after: [1] }, [["operation", "o1"]]],
    [
      { before: "key", operation: "o1", auth_mode: "aml_token" },
      { path: "auth_mode", before: "key", after: "aml_token" },
      [["operation", "o1"]],
    ],
  ])("takes no name beside the value for what changed: %j", (data, change, facts) =>
    expect(readEvent(data)).toEqual({ changes: [change], facts }),
  );
  it("shows what was there before a deletion", () =>
    expect(readEvent({ before: { name: "a" } }).changes).toEqual([{ path: "name", before: "a", after: undefined }]));
  it("gives facts where nothing changed", () => expect(readEvent({ a: 1 })).toEqual({ changes: [], facts: [["a", 1]] }));
  it.each([
    [undefined, "–"],
    [null, "–"],
    ["x", "x"],
    [{ a: 1 }, '{"a":1}'],
    [0, "0"],
  ])("%j in one line", (value, text) => expect(valueText(value)).toBe(text));
});
