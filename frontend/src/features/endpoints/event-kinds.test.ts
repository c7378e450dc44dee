import { expect, test } from "vitest";
import type { EventItem } from "@/api/types";
import { changesOf, factsOf, isKind } from "./event-details";

const event = (verb: string, data: unknown, severity: EventItem["severity"] = "info") =>
  ({ seq: 1, at: "2026-11-21T14:00:00Z", actor: "maria", subject: "endpoint/a", message: "", verb, data, severity }) as EventItem;

test("a change of traffic is told deployment by deployment, what stayed is left out", () => {
  const changed = event("endpoint.traffic_changed", {
    traffic: { blue: 90, green: 10, old: 0 },
    before: { blue: 100, old: 0 },
    operation: "o1",
  });
  expect(changesOf(changed)).toEqual([
    { field: "blue", before: "100 %", after: "90 %" },
    { field: "green", before: "–", after: "10 %" },
  ]);
  expect(factsOf(changed)).toEqual([["operation", "o1"]]);
});

test("a plain value has one line", () => {
  expect(changesOf(event("endpoint.auth_mode_changed", { auth_mode: "aml_token", before: "key" }))).toEqual([
    { field: "auth_mode", before: "key", after: "aml_token" },
  ]);
});

test("what recorded no before changed nothing that is known", () => {
  expect(changesOf(event("replica.ready", { deployment: "blue", replica: "r1" }))).toEqual([]);
  expect(factsOf(event("replica.ready", { deployment: "blue", replica: "r1" }))).toEqual([
    ["deployment", "blue"],
    ["replica", "r1"],
  ]);
  expect(changesOf(event("x", null))).toEqual([]);
});

test.each([
  ["endpoint.mirror_changed", "traffic", true],
  ["endpoint.rules_changed", "traffic", true],
  ["operation.failed", "operation", true],
  ["endpoint.keys_revealed", "access", true],
  ["replica.ready", "access", false],
  ["replica.ready", "all", true],
] as const)("%s is of the kind %s: %s", (verb, kind, is) => expect(isKind(event(verb, {}), kind)).toBe(is));

test("failures go by severity", () => expect(isKind(event("replica.failed", {}, "error"), "failure")).toBe(true));
