import { expect, test } from "vitest";
import type { AutoscalePolicy, AutoscalePreview } from "@/api/types";
import { draftOf, draftProblem, policyOf, previewText } from "./policy";

const POLICY: AutoscalePolicy = {
  enabled: false,
  min: 2,
  max: 6,
  targets: { in_flight: 4, requests_per_second: null, queue_ms: null, cpu_percent: null, gpu_percent: null },
  tolerance_percent: 20,
  interval_s: 5,
  up: { window_s: 0, cooldown_s: 15, per_minute: 3 },
  down: { window_s: 120, cooldown_s: 60, per_minute: null },
  schedules: [{ start: "0 8 * * *", end: "0 18 * * *", time_zone: "UTC", min: 3, max: null }],
};
const FOUND: AutoscalePreview = {
  least: 1,
  most: 4,
  replica_hours: 38.2,
  seconds: 86_400,
  measured_s: 86_400,
  changes: [
    { at: 0, count: 1, reason: "" },
    { at: 60, count: 4, reason: "" },
  ],
  ignored: [],
};

test("what the form does not show is kept", () => {
  const draft = { ...draftOf(POLICY, 2), max: 9, calm_s: 60 };
  expect(policyOf(draft, POLICY)).toEqual({ ...POLICY, max: 9, down: { ...POLICY.down, window_s: 60 } });
});

test("a new policy begins with what runs", () => {
  const draft = draftOf(null, 3);
  expect([draft.min, draft.max, draft.calm_s]).toEqual([1, 3, 300]);
  expect(draftProblem(draft, null)).toBe("Set one target or more.");
  expect(policyOf({ ...draft, targets: { ...draft.targets, in_flight: 2 } }, null)).toMatchObject({ enabled: true, min: 1, max: 3 });
});

test("bounds that cross are told, and schedules alone are a policy", () => {
  expect(draftProblem({ ...draftOf(POLICY, 2), min: 7 }, POLICY)).toBe("At most 6 is less than at least 7.");
  const aimless = { ...draftOf(POLICY, 2), targets: draftOf(null, 1).targets };
  expect(draftProblem(aimless, POLICY)).toBeNull();
});

test("a preview is a sentence", () => {
  expect(previewText(FOUND)).toBe("Would have run 1 to 4 replicas in the last 24 hours: 38 replica-hours, 1 change.");
  const short = { ...FOUND, least: 1, most: 1, replica_hours: 0.5, seconds: 1_800, measured_s: 900, changes: [], ignored: ["queue_ms"] };
  expect(previewText(short)).toBe(
    "Would have run 1 replica in the last 30 minutes: 0.5 replica-hours, 0 changes. Measured for 50 % of that time. Not foreseen: Wait in the queue.",
  );
});
