/** Errors, warnings and notes of the checks, in the studio's tones and words. */
import { t } from "@lingui/core/macro";
import type { Tone } from "./status";

export type ProblemSeverity = "error" | "warning" | "info";

export const SEVERITY_TONES: Record<ProblemSeverity, Tone> = { error: "error", warning: "warn", info: "note" };
export const SEVERITY_WORDS: Record<ProblemSeverity, string> = { error: t`Error`, warning: t`Warning`, info: t`Note` };

const ORDER: ProblemSeverity[] = ["error", "warning", "info"];

/** What must be mended first. */
export const bySeverity = (a: { severity: ProblemSeverity }, b: { severity: ProblemSeverity }): number =>
  ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity);
