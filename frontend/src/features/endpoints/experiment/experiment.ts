/** The words of an experiment. */
import { plural, t } from "@lingui/core/macro";
import { count, MISSING, percent } from "@/components/format";
import type { ExperimentArm } from "@/api/types";

export const RANGES = [
  { value: "15m", label: t`15 min`, seconds: 900 },
  { value: "1h", label: "1 h", seconds: 3_600 },
  { value: "6h", label: "6 h", seconds: 21_600 },
  { value: "24h", label: "24 h", seconds: 86_400 },
] as const;
export type Range = (typeof RANGES)[number]["value"];

export const secondsOf = (range: Range): number => RANGES.find((one) => one.value === range)?.seconds ?? 3_600;

const TONES = { worse: "error", better: "ok", no_difference: "info", too_little_data: "warn" } as const;

export interface Verdict {
  text: string;
  tone: "error" | "ok" | "info" | "warn";
}

export function verdictOf(arm: ExperimentArm, baseline: string): Verdict {
  const tone = TONES[arm.verdict];
  switch (arm.verdict) {
    case "worse":
      return { text: t`Worse`, tone };
    case "better":
      return { text: t`Better`, tone };
    case "too_little_data":
      return {
        text: arm.missing > 0 ? t`${plural(arm.missing, { one: "# request", other: "# requests" })} missing` : t`Too little data`,
        tone,
      };
    case "no_difference":
      return { text: arm.deployment === baseline ? t`Baseline` : t`No difference`, tone };
  }
}

/** Between what the share that failed surely lies. */
export const intervalText = (arm: ExperimentArm): string =>
  arm.failed_share === null ? MISSING : t`${percent(arm.failed_low)} to ${percent(arm.failed_high)}`;

export function splitText(arm: ExperimentArm): string {
  const rules = arm.rules.length > 0 ? `, ${plural(arm.rules.length, { one: "# rule", other: "# rules" })}` : "";
  const measured = arm.measured_percent === null ? MISSING : percent(arm.measured_percent / 100);
  return t`${count(arm.asked_percent)} %${rules}, measured ${measured}`;
}
