/** A stretch of time in the URL: `5m` follows the present, `1763690000..1763690600` (Unix seconds) stands still. */
import { t } from "@lingui/core/macro";

export const PRESETS = ["1m", "5m", "15m", "1h", "6h", "24h", "7d", "30d"] as const;
export type Preset = (typeof PRESETS)[number];

const PRESET_SECONDS: Record<Preset, number> = {
  "1m": 60,
  "5m": 300,
  "15m": 900,
  "1h": 3_600,
  "6h": 21_600,
  "24h": 86_400,
  "7d": 604_800,
  "30d": 2_592_000,
};
/** What a live socket follows; longer ranges are asked for and refreshed. */
export const LIVE_SECONDS = 900;
export const SHORTEST_S = 10;
export const LONGEST_S = PRESET_SECONDS["30d"];

export interface Following {
  kind: "following";
  preset: Preset;
  seconds: number;
}
interface Fixed {
  kind: "fixed";
  from: number;
  to: number;
  seconds: number;
}
export type TimeRange = Following | Fixed;

export function following(preset: Preset): Following {
  return { kind: "following", preset, seconds: PRESET_SECONDS[preset] };
}

/** Null for what is neither: the page then falls back to its default. */
export function parseRange(text: string | undefined): TimeRange | null {
  const preset = PRESETS.find((one) => one === text);
  if (preset) return following(preset);
  // why so few digits: Unix seconds began at 0, and had nine of them in March 1973.
  const match = /^(\d{1,11})\.\.(\d{1,11})$/.exec(text ?? "");
  if (!match) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return to - from >= SHORTEST_S && to - from <= LONGEST_S ? { kind: "fixed", from, to, seconds: to - from } : null;
}

/** What a selection in a chart becomes in the URL: whole seconds, at least ten of them. */
export function rangeText(from: number, to: number): string {
  const middle = (from + to) / 2;
  const half = Math.max(SHORTEST_S, Math.min(LONGEST_S, to - from)) / 2;
  const start = Math.floor(middle - half);
  return `${start}..${Math.min(start + LONGEST_S, Math.max(start + SHORTEST_S, Math.ceil(middle + half)))}`;
}

/** `10 s`, `5 min`, `2 h`: the width of a bucket. */
export function stepText(seconds: number): string {
  if (seconds >= 3_600) return `${seconds / 3_600} h`;
  if (seconds >= 60) return t`${seconds / 60} min`;
  return `${seconds} s`;
}
