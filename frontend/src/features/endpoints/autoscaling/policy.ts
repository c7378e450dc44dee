/** The autoscaler's policy as a form has it, and what is told of it in words. */
import type { AutoscalePolicy, AutoscalePreview, PolicyRequest } from "@/api/types";

export const TARGETS = {
  in_flight: { label: "Requests in flight", suffix: "", help: "that each replica has at a time" },
  requests_per_second: { label: "Requests/s", suffix: "", help: "that each replica answers" },
  queue_ms: { label: "Wait in the queue", suffix: " ms", help: "in the mean" },
  cpu_percent: { label: "Processors", suffix: " %", help: "of those of each replica" },
  gpu_percent: { label: "GPUs", suffix: " %", help: "of those of each replica" },
} as const;
export type Target = keyof typeof TARGETS;
export const TARGET_NAMES = Object.keys(TARGETS) as Target[];

export interface Draft {
  min: number;
  max: number;
  targets: Record<Target, number | null>;
  /** Seconds that less load must last before a replica goes. */
  calm_s: number;
}

const CALM_S = 300;

export function draftOf(policy: AutoscalePolicy | null, running: number): Draft {
  const none = Object.fromEntries(TARGET_NAMES.map((name) => [name, null])) as Draft["targets"];
  if (!policy) return { min: 1, max: Math.max(2, running), targets: none, calm_s: CALM_S };
  return { min: policy.min, max: policy.max, targets: { ...none, ...policy.targets }, calm_s: policy.down.window_s };
}

/** What the form does not show stays as it is. */
export function policyOf(draft: Draft, kept: AutoscalePolicy | null): PolicyRequest {
  const { calm_s, ...said } = draft;
  return { ...kept, enabled: kept?.enabled ?? true, ...said, down: { ...kept?.down, window_s: calm_s } };
}

/** Why it cannot be saved, as a sentence; null where nothing speaks against it. */
export function draftProblem(draft: Draft, kept: AutoscalePolicy | null): string | null {
  if (draft.max < draft.min) return `At most ${draft.max} is less than at least ${draft.min}.`;
  const aims = TARGET_NAMES.some((name) => draft.targets[name] !== null);
  return aims || kept?.schedules.length ? null : "Set one target or more.";
}

const count = (value: number, word: string) => `${value} ${word}${value === 1 ? "" : "s"}`;

export function previewText(found: AutoscalePreview): string {
  const hours = found.replica_hours < 10 ? found.replica_hours.toFixed(1) : found.replica_hours.toFixed(0);
  const ran = found.least === found.most ? count(found.most, "replica") : `${found.least} to ${count(found.most, "replica")}`;
  const share = Math.round((100 * found.measured_s) / found.seconds);
  const spent = found.seconds < 5_400 ? count(Math.round(found.seconds / 60), "minute") : count(Math.round(found.seconds / 3_600), "hour");
  const notes = [
    `Would have run ${ran} in the last ${spent}: ${hours} replica-hours, ${count(Math.max(0, found.changes.length - 1), "change")}.`,
    share < 100 ? `Measured for ${share} % of that time.` : "",
    found.ignored.length > 0 ? `Not foreseen: ${found.ignored.map((name) => TARGETS[name as Target].label).join(", ")}.` : "",
  ];
  return notes.filter(Boolean).join(" ");
}
