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

interface Step {
  percent: number;
  hold_s: number;
}

/** Steps as somebody types them, "1, 10, 100": each but the last holds so many seconds. */
export function readSteps(text: string, hold_s: number): { ok: true; steps: Step[] } | { ok: false; error: string } {
  const parts = text.split(/[\s,;%]+/).filter(Boolean);
  const percents = parts.map(Number);
  if (percents.length === 0 || percents.some((one) => !Number.isInteger(one) || one < 1 || one > 100))
    return { ok: false, error: t`whole numbers from 1 to 100, with commas between` };
  if (percents.some((one, index) => index > 0 && one <= (percents[index - 1] ?? 0)))
    return { ok: false, error: t`each more than the one before` };
  if (percents[percents.length - 1] !== 100) return { ok: false, error: t`the last must be 100` };
  return { ok: true, steps: percents.map((percent) => ({ percent, hold_s: percent === 100 ? 0 : Math.round(hold_s) })) };
}

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
