/** Objectives in words, as the command line says them. */
import { plural, t } from "@lingui/core/macro";
import type { Objective } from "@/api/types";
import { MISSING, significant, fixed } from "@/components/format";
import type { Tone } from "@/components/status";
import { currentLanguage } from "@/i18n/language";

export const STATE_WORDS: Record<Objective["state"], string> = {
  ok: t`kept`,
  burning: t`burning`,
  exhausted: t`used up`,
  no_data: t`no data`,
};

export const STATE_TONES: Record<Objective["state"], Tone> = { ok: "ok", burning: "error", exhausted: "warn", no_data: "idle" };

/** As many decimals as a share has, up to three. */
const exact = new Intl.NumberFormat(currentLanguage(), { maximumFractionDigits: 3 });

export const promise = ({
  target_percent,
  threshold_ms,
  window_days,
}: Pick<Objective, "target_percent" | "threshold_ms" | "window_days">) =>
  threshold_ms === null
    ? t`${exact.format(target_percent)} % without a 5xx, ${plural(window_days, { one: "# day", other: "# days" })}`
    : t`${exact.format(target_percent)} % within ${threshold_ms} ms, ${plural(window_days, { one: "# day", other: "# days" })}`;

/** Rounded down, so that nothing seems to be kept that is not. */
export const goodText = (percent: number | null): string =>
  percent === null ? MISSING : `${exact.format(Math.floor(percent * 1000) / 1000)} %`;

export const leftText = (left: number | null): string => (left === null ? MISSING : `${fixed(left * 100, 1)} %`);

function span(seconds: number): string {
  if (seconds < 3600) return t`${seconds / 60} min`;
  return seconds < 86_400 ? `${seconds / 3600} h` : plural(seconds / 86_400, { one: "# day", other: "# days" });
}

/** "20 over 1 h, 22 over 5 min": of the pair that burns, or of the first. */
export function burnText(objective: Objective): string {
  const one = objective.burn_rates.find((pair) => pair.burning) ?? objective.burn_rates[0];
  if (!one || one.long_rate === null) return MISSING;
  const short = one.short_rate === null ? MISSING : significant(one.short_rate);
  return t`${significant(one.long_rate)} over ${span(one.long_s)}, ${short} over ${span(one.short_s)}`;
}

/** Bounds of the gateways' histogram, in milliseconds. */
export const THRESHOLDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];
