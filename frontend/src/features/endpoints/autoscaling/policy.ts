/** The autoscaler's policy as a form has it, and what is told of it in words. */
import { plural, t } from "@lingui/core/macro";
import type { AutoscalePolicy, AutoscalePreview, PolicyRequest } from "@/api/types";
import { fixed } from "@/components/format";

export type Side = AutoscalePolicy["up"];
export type Schedule = AutoscalePolicy["schedules"][number];

/** `within`: the label within a sentence. */
export const TARGETS = {
  in_flight: { label: t`Requests in flight`, within: t`requests in flight`, suffix: "", help: t`that each replica has at a time` },
  requests_per_second: { label: t`Requests/s`, within: t`requests/s`, suffix: "", help: t`that each replica answers` },
  queue_ms: { label: t`Wait in the queue`, within: t`wait in the queue`, suffix: " ms", help: t`in the mean` },
  cpu_percent: { label: t`Processors`, within: t`processors`, suffix: " %", help: t`of those of each replica` },
  gpu_percent: { label: "GPUs", within: "GPUs", suffix: " %", help: t`of those of each replica` },
} as const;
export type Target = keyof typeof TARGETS;
export const TARGET_NAMES = Object.keys(TARGETS) as Target[];

export interface Draft {
  min: number;
  max: number;
  targets: Record<Target, number | null>;
  tolerance_percent: number;
  interval_s: number;
  up: Side;
  down: Side;
  idle: AutoscalePolicy["idle"];
  schedules: Schedule[];
}

/** What the server takes where nothing is said: docs/autoscaling.md. */
const DEFAULTS = {
  tolerance_percent: 10,
  interval_s: 2,
  up: { window_s: 0, cooldown_s: 15, per_minute: null },
  down: { window_s: 300, cooldown_s: 60, per_minute: null },
  idle: { after_s: 900, hold_s: 60, most_held: 1000 },
  schedules: [],
};
const CRON_FIELDS = 5;

export function draftOf(policy: AutoscalePolicy | null, running: number): Draft {
  const none = Object.fromEntries(TARGET_NAMES.map((name) => [name, null])) as Draft["targets"];
  if (!policy) return { min: 1, max: Math.max(2, running), targets: none, ...DEFAULTS };
  const { enabled: _, ...said } = policy;
  return { ...said, targets: { ...none, ...policy.targets } };
}

export function policyOf(draft: Draft, kept: AutoscalePolicy | null): PolicyRequest {
  return { ...draft, enabled: kept?.enabled ?? true };
}

export function newSchedule(draft: Draft, zone: string): Schedule {
  return { start: "0 8 * * 1-5", end: "0 18 * * 1-5", time_zone: zone, min: Math.min(draft.min + 1, draft.max), max: null };
}

/** Why it cannot be saved, as a sentence; null where nothing speaks against it. */
export function draftProblem(draft: Draft): string | null {
  if (draft.max < draft.min) return t`At most ${draft.max} is less than at least ${draft.min}.`;
  for (const [index, schedule] of draft.schedules.entries()) {
    const problem = scheduleProblem(schedule, draft.max);
    if (problem) return t`Schedule ${index + 1}: ${problem}`;
  }
  const aims = TARGET_NAMES.some((name) => draft.targets[name] !== null);
  return aims || draft.schedules.length > 0 || draft.min === 0 ? null : t`Set one target or more.`;
}

function scheduleProblem({ start, end, time_zone, min, max }: Schedule, ceiling: number): string | null {
  const times: [string, string][] = [
    [t`from`, start],
    [t`until`, end],
  ];
  for (const [name, cron] of times) {
    if (cron.trim().split(/\s+/).length !== CRON_FIELDS) return t`${name} “${cron}” is no time of cron: five fields, such as 0 8 * * 1-5.`;
  }
  if (!time_zone.trim()) return t`the time zone is missing, such as Europe/Berlin.`;
  return (max ?? ceiling) < min ? t`at most ${max ?? ceiling} is less than at least ${min}.` : null;
}

const pace = (word: string, { window_s, per_minute }: Side) =>
  `${window_s === 0 ? t`${word} at once` : t`${word} after ${window_s} s`}${per_minute === null ? "" : t`, ${per_minute} a minute at most`}`;

/** The head of what is folded away: how it stands. */
export function advancedText({ min, up, down, idle, schedules }: Draft): string {
  const times = schedules.length === 0 ? t`no schedules` : plural(schedules.length, { one: "# schedule", other: "# schedules" });
  const rest = min === 0 ? t`none after ${idle.after_s} s without a request; ` : "";
  return `${pace(t`more`, up)}; ${pace(t`fewer`, down)}; ${rest}${times}`;
}

/** Between which counts a person may set one; null where a policy does not keep them from it. */
export function scaleBounds(policy: AutoscalePolicy | null): { min: number; max: number } | null {
  if (!policy?.enabled) return null;
  return { min: Math.max(policy.min, 1), max: Math.max(policy.max, ...policy.schedules.map((one) => one.max ?? 0)) };
}

function rangeText({ min, max, targets }: AutoscalePolicy): string {
  const aims = TARGET_NAMES.flatMap((name) => {
    const goal = targets[name];
    return goal === null || goal === undefined ? [] : [`${TARGETS[name].within} (${goal}${TARGETS[name].suffix})`];
  });
  const by = aims.join(", ");
  return by
    ? t`Its autoscaling policy keeps ${min} to ${plural(max, { one: "# instance", other: "# instances" })} by ${by}.`
    : t`Its autoscaling policy keeps ${min} to ${plural(max, { one: "# instance", other: "# instances" })}.`;
}

/** A policy in words, all of it. */
export function policyText(policy: AutoscalePolicy | null): string {
  if (!policy) return t`No policy: people set the number of instances.`;
  const rest = advancedText(draftOf(policy, 0));
  return [rangeText(policy), t`Advanced: ${rest}.`, policy.enabled ? "" : t`It is paused.`].filter(Boolean).join(" ");
}

/** What becomes of a count that a person sets. */
export function scaleText(policy: AutoscalePolicy | null): string | null {
  if (!policy) return null;
  if (!policy.enabled) return t`Its autoscaling policy is paused: this number stays.`;
  const { up, down } = policy;
  const texts = [
    rangeText(policy),
    policy.schedules.length > 0 ? t`Its schedules have bounds of their own.` : "",
    t`The load may add to this number after ${up.cooldown_s} s at the earliest, and take from it after ${down.cooldown_s} s.`,
    t`To keep it, pause the policy in the endpoint's settings.`,
  ];
  return texts.filter(Boolean).join(" ");
}

export function previewText(found: AutoscalePreview): string {
  const hours = fixed(found.replica_hours, found.replica_hours < 10 ? 1 : 0);
  const { least, most } = found;
  const ran =
    least === most
      ? plural(most, { one: "# replica", other: "# replicas" })
      : t`${least} to ${plural(most, { one: "# replica", other: "# replicas" })}`;
  const share = Math.round((100 * found.measured_s) / found.seconds);
  const spent =
    found.seconds < 5_400
      ? plural(Math.round(found.seconds / 60), { one: "# minute", other: "# minutes" })
      : plural(Math.round(found.seconds / 3_600), { one: "# hour", other: "# hours" });
  const changes = Math.max(0, found.changes.length - 1);
  const unforeseen = found.ignored.map((name) => TARGETS[name as Target].label).join(", ");
  const notes = [
    t`Would have run ${ran} in the last ${spent}: ${hours} replica-hours, ${plural(changes, { one: "# change", other: "# changes" })}.`,
    share < 100 ? t`Measured for ${share} % of that time.` : "",
    unforeseen ? t`Not foreseen: ${unforeseen}.` : "",
  ];
  return notes.filter(Boolean).join(" ");
}
