/** What a rollout looks like: pure. */
import { isUnderWay } from "@/api/rollouts";
import type { Rollout } from "@/api/types";
import { MISSING } from "@/components/format";
import type { Tone } from "@/components/status";
import type { Step } from "@/components/stepper";

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

export const STAGE_STATES: Record<Rollout["stages"][number]["status"], Step["state"]> = {
  pending: "todo",
  running: "current",
  succeeded: "done",
  failed: "failed",
  canceled: "todo",
};

export const isShown = (rollout: Rollout, now = Date.now()): boolean =>
  isUnderWay(rollout) || (rollout.finished_at !== null && now - Date.parse(rollout.finished_at) < TOLD_MS);

/** A confidence, rounded down: nobody shall read one that is not reached. */
export const sure = (confidence: number | null): string =>
  confidence === null ? MISSING : `${(Math.floor(confidence * 1000) / 10).toFixed(1)} %`;

export const sharesText = (traffic: Record<string, number>): string =>
  Object.entries(traffic)
    .map(([name, share]) => `${name} ${share} %`)
    .join(", ");
