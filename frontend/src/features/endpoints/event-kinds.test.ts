import { expect, test } from "vitest";
import type { EventItem } from "@/api/types";
import { isKind } from "./event-kinds";

const event = (verb: string, data: unknown, severity: EventItem["severity"] = "info") =>
  ({ seq: 1, at: "2026-11-21T14:00:00Z", actor: "maria", subject: "endpoint/a", message: "", verb, data, severity }) as EventItem;

test.each([
  ["endpoint.mirror_changed", "traffic", true],
  ["endpoint.rules_changed", "traffic", true],
  ["operation.failed", "operation", true],
  ["endpoint.keys_revealed", "access", true],
  ["replica.ready", "access", false],
  ["replica.ready", "all", true],
] as const)("%s is of the kind %s: %s", (verb, kind, is) => expect(isKind(event(verb, {}), kind)).toBe(is));

test("failures go by severity", () => expect(isKind(event("replica.failed", {}, "error"), "failure")).toBe(true));
