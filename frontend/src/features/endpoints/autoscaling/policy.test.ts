import { expect, test } from "vitest";
import type { AutoscalePolicy, AutoscalePreview } from "@/api/types";
import { advancedText, draftOf, draftProblem, newSchedule, policyOf, previewText, scaleBounds, scaleText } from "./policy";

const POLICY: AutoscalePolicy = {
  enabled: false,
  min: 2,
  max: 6,
  targets: { in_flight: 4, requests_per_second: null, queue_ms: null, cpu_percent: null, gpu_percent: null },
  tolerance_percent: 20,
  interval_s: 5,
  up: { window_s: 0, cooldown_s: 15, per_minute: 3 },
  down: { window_s: 120, cooldown_s: 60, per_minute: null },
  idle: { after_s: 600, hold_s: 30, most_held: 100 },
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

test("the form has all of a policy, and leaves it paused", () => {
  expect(policyOf(draftOf(POLICY, 2), POLICY)).toEqual(POLICY);
  const draft = { ...draftOf(POLICY, 2), max: 9, schedules: [] };
  expect(policyOf(draft, POLICY)).toEqual({ ...POLICY, max: 9, schedules: [] });
});

test("a new policy begins with what runs", () => {
  const draft = draftOf(null, 3);
  expect([draft.min, draft.max, draft.down.window_s]).toEqual([1, 3, 300]);
  expect(draftProblem(draft)).toBe("Set one target or more.");
  expect(policyOf({ ...draft, targets: { ...draft.targets, in_flight: 2 } }, null)).toMatchObject({ enabled: true, min: 1, max: 3 });
});

test("bounds that cross are told, and schedules alone are a policy", () => {
  expect(draftProblem({ ...draftOf(POLICY, 2), min: 7 })).toBe("At most 6 is less than at least 7.");
  const aimless = { ...draftOf(POLICY, 2), targets: draftOf(null, 1).targets };
  expect(draftProblem(aimless)).toBeNull();
});

test("a policy without a least is one, says when it rests, and wakes by itself: no person asks for 0", () => {
  const idle = { ...draftOf(null, 2), min: 0 };
  expect(draftProblem(idle)).toBeNull();
  expect(advancedText(idle)).toContain("none after 900 s without a request");
  expect(scaleBounds({ ...POLICY, enabled: true, min: 0 })).toEqual({ min: 1, max: 6 });
});

test.each([
  [{ start: "8:00" }, "Schedule 1: from “8:00” is no time of cron: five fields, such as 0 8 * * 1-5."],
  [{ time_zone: " " }, "Schedule 1: the time zone is missing, such as Europe/Berlin."],
  [{ min: 7 }, "Schedule 1: at most 6 is less than at least 7."],
  [{ min: 7, max: 8 }, null],
])("a schedule %o is told: %s", (changed, problem) => {
  const draft = draftOf(POLICY, 2);
  expect(draftProblem({ ...draft, schedules: [{ ...newSchedule(draft, "UTC"), ...changed }] })).toBe(problem);
});

test("the head of what is folded away says how it stands", () => {
  expect(advancedText(draftOf(POLICY, 2))).toBe("more at once, 3 a minute at most; fewer after 120 s; 1 schedule");
  expect(advancedText(draftOf(null, 2))).toBe("more at once; fewer after 300 s; no schedules");
});

test("a person's count has the policy's bounds, the widest of its schedules", () => {
  const on = { ...POLICY, enabled: true };
  expect([scaleBounds(null), scaleBounds(POLICY), scaleBounds(on)]).toEqual([null, null, { min: 2, max: 6 }]);
  const widened = { ...on, schedules: on.schedules.map((one) => ({ ...one, max: 9 })) };
  expect(scaleBounds(widened)).toEqual({ min: 2, max: 9 });
  expect(scaleText(on)).toContain("Its autoscaling policy keeps 2 to 6 instances by requests in flight (4). Its schedules have bounds");
  expect(scaleText(on)).toContain("The load may add to this number after 15 s at the earliest, and take from it after 60 s.");
  expect(scaleText(POLICY)).toBe("Its autoscaling policy is paused: this number stays.");
});

test("a preview is a sentence", () => {
  expect(previewText(FOUND)).toBe("Would have run 1 to 4 replicas in the last 24 hours: 38 replica-hours, 1 change.");
  const short = { ...FOUND, least: 1, most: 1, replica_hours: 0.5, seconds: 1_800, measured_s: 900, changes: [], ignored: ["queue_ms"] };
  expect(previewText(short)).toBe(
    "Would have run 1 replica in the last 30 minutes: 0.5 replica-hours, 0 changes. Measured for 50 % of that time. Not foreseen: Wait in the queue.",
  );
});
