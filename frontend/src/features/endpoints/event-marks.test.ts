import { expect, test } from "vitest";
import type { EventItem } from "@/api/types";
import { marksOf } from "./event-marks";

const event = (at: number, verb: string, severity: EventItem["severity"] = "info") =>
  ({
    seq: at,
    at: new Date(at * 1000).toISOString(),
    actor: "",
    subject: "",
    message: `${verb} at ${at}`,
    data: {},
    verb,
    severity,
  }) as EventItem;

test("changes within the time are marks, oldest first; looking at a key is none", () => {
  const marks = marksOf(
    [
      event(300, "replica.failed", "error"),
      event(200, "endpoint.traffic_changed"),
      event(150, "endpoint.keys_revealed"),
      event(90, "operation.started"),
      event(250, "replica.restarted", "warning"),
    ],
    100,
    300,
  );
  expect(marks.map((mark) => [mark.at, mark.tone])).toEqual([
    [200, "info"],
    [250, "warn"],
    [300, "error"],
  ]);
});
