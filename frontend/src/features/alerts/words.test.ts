import { expect, test } from "vitest";
import type { Alert, Delivery } from "@/api/types";
import { cameOf, endsIn, stateOf, subjectOf } from "./words";

const alert = { state: "firing", severity: "page", silence: "", subject: "endpoint/digits", part: "blue" } as Alert;

test.each([
  [{}, "firing", "error"],
  [{ severity: "ticket" as const }, "firing", "warn"],
  [{ silence: "s1" }, "silenced", "idle"],
  [{ state: "pending" as const }, "pending", "idle"],
  [{ state: "resolved" as const, silence: "s1" }, "resolved", "ok"],
])("%o is %s", (change, word, tone) => {
  expect(stateOf({ ...alert, ...change })).toEqual({ word, tone });
});

test("each leads to the page of what it is about", () => {
  expect(subjectOf(alert).text).toBe("digits, blue");
  expect(subjectOf(alert).link.to).toBe("/endpoints/$name/overview");
  expect(subjectOf({ subject: "node/n1", part: "" }).link.to).toBe("/nodes/$name/overview");
  expect(subjectOf({ subject: "installation", part: "/data" })).toMatchObject({ text: "Installation, /data", link: { to: "/system" } });
});

test("what came of a message", () => {
  const tried = { at: "", ms: 12.4, status: 200, error: "" };
  expect(cameOf({ log: [] } as unknown as Delivery)).toBe("not sent yet");
  expect(cameOf({ log: [tried] } as unknown as Delivery)).toBe("200 in 12 ms");
  expect(cameOf({ log: [tried, { ...tried, error: "It answered 500." }] } as unknown as Delivery)).toBe("It answered 500.");
});

test("a silence ends in hours", () => expect(endsIn(1, 0)).toBe("1970-01-01T01:00:00.000Z"));
