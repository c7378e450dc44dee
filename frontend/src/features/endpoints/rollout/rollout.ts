/** What a rollout looks like: pure. */
import { t } from "@lingui/core/macro";
import { isUnderWay } from "@/api/rollouts";
import type { Rollout } from "@/api/types";
import { MISSING, fixed } from "@/components/format";
import type { Tone } from "@/components/status";
import type { Step as ShownStep } from "@/components/stepper";

/** One that ended is told of for so long. */
export const TOLD_MS = 24 * 3_600_000;

export const TONES: Record<Rollout["state"], Tone> = {
  Running: "info",
  Paused: "warn",
  Succeeded: "ok",
  Withdrawn: "error",
  Aborted: "idle",
  Superseded: "idle",
};

export const STAGE_STATES: Record<Rollout["stages"][number]["status"], ShownStep["state"]> = {
  pending: "todo",
  running: "current",
  succeeded: "done",
  failed: "failed",
  canceled: "todo",
};

export const isShown = (rollout: Rollout, now = Date.now()): boolean =>
  isUnderWay(rollout) || (rollout.finished_at !== null && now - Date.parse(rollout.finished_at) < TOLD_MS);

export const stageTitle = ({ percent, mirror }: Rollout["stages"][number]): string =>
  mirror > 0 ? t`copies of ${mirror} %` : `${percent} %`;

/** From when on a figure withdraws the candidate. */
export function neededText({ counts, needed, tolerance }: Rollout["figures"][number]): string {
  if (counts === "percent") return t`${Math.round(100 * tolerance)} %, for 120 s`;
  return needed === null ? t`more than ${tolerance}` : sure(needed);
}

/** A confidence, rounded down: nobody shall read one that is not reached. */
export const sure = (confidence: number | null): string =>
  confidence === null ? MISSING : `${fixed(Math.floor(confidence * 1000) / 10, 1)} %`;

export const sharesText = (traffic: Record<string, number>): string =>
  Object.entries(traffic)
    .map(([name, share]) => `${name} ${share} %`)
    .join(", ");
