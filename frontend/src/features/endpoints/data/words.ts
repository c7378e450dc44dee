/** What is told of features, in words. */
import { t } from "@lingui/core/macro";
import type { CaptureFeature } from "@/api/types";
import { MISSING, percent, significant } from "@/components/format";
import type { Tone } from "@/components/status";

type Verdict = CaptureFeature["verdict"];

export const VERDICT_WORDS: Record<Verdict, string> = {
  no_baseline: t`No baseline`,
  too_little_data: t`Too little data`,
  stable: t`Stable`,
  moderate: t`Moderate`,
  drift: t`Drift`,
};

export const VERDICT_TONES: Record<Verdict, Tone> = {
  no_baseline: "idle",
  too_little_data: "idle",
  stable: "ok",
  moderate: "warn",
  drift: "error",
};

/** What moved first. */
const ORDER: readonly Verdict[] = ["drift", "moderate", "stable", "too_little_data", "no_baseline"];

export const byVerdict = (features: readonly CaptureFeature[]): CaptureFeature[] =>
  features.toSorted((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict) || (other.psi ?? 0) - (one.psi ?? 0));

export const featureName = (feature: CaptureFeature): string =>
  feature.collection === "model_outputs" ? t`output ${feature.name}` : t`input ${feature.name}`;

export const rangeText = ({ now }: CaptureFeature): string => {
  if (now?.kind === "text") return t`categories`;
  return now && now.min !== null && now.max !== null ? t`${significant(now.min)} to ${significant(now.max)}` : MISSING;
};

export const missingText = ({ now }: CaptureFeature): string => (now && now.values > 0 ? percent(now.missing / now.values) : MISSING);

/** For who does not see the bars: the commonest of now, and of the baseline. */
export const barsText = (feature: CaptureFeature): string => {
  const commonest = feature.bars.toSorted((one, other) => other.now - one.now)[0];
  if (!commonest) return t`No histogram of ${feature.name}`;
  const { label, baseline } = commonest;
  const now = percent(commonest.now);
  return baseline === null
    ? t`Histogram of ${feature.name}: most are ${label}, ${now} now`
    : t`Histogram of ${feature.name}: most are ${label}, ${now} now, ${percent(baseline)} in the baseline`;
};
