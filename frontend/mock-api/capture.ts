/** Captured data of resnet50-prod: one feature that has moved, one that has not, and one with too little of it. */
import type { CapturedFile, CaptureFeature, CaptureStatistics } from "@/api/types";

const AT = "2026-01-05T09:30:00Z";
const sketch = {
  kind: "number" as const,
  rows: 4_812,
  values: 4_812,
  missing: 24,
  min: -3.2,
  max: 4.6,
  mean: 1.53,
  shapes: { "1x4": 4_812 },
};
const shares = (...counts: number[]) => counts.map((one) => one / counts.reduce((sum, next) => sum + next, 0));
const NOW = shares(1, 2, 4, 8, 14, 20, 22, 16, 9, 4);
const BEFORE = shares(4, 9, 16, 22, 20, 14, 8, 4, 2, 1);

const feature = (name: string, before: number[], more: Partial<CaptureFeature>): CaptureFeature => ({
  name,
  collection: "model_inputs",
  now: sketch,
  baseline: { ...sketch, rows: 12_000, mean: 0.02 },
  verdict: "stable",
  told: "",
  psi: 0.012,
  ks: 0.03,
  p_value: 0.71,
  bars: NOW.map((now, at) => ({ label: `${at - 4} to ${at - 3}`, baseline: before[at] ?? null, now })),
  ...more,
});

let baseline: CaptureStatistics["baseline"] = {
  source: "2026-01-01 00:00 to 2026-01-02 00:00 UTC",
  records: 12_000,
  set_by: "mara",
  set_at: AT,
  begins_at: "2026-01-01T00:00:00Z",
  ends_at: "2026-01-02T00:00:00Z",
  window_hours: 24,
  etag: 'W/"24"',
};

const FEATURES: CaptureFeature[] = [
  feature("income", NOW, {}),
  feature("age", BEFORE, { verdict: "drift", psi: 0.684, ks: 0.41, p_value: 1e-30 }),
  feature("score", NOW, { collection: "model_outputs", verdict: "moderate", psi: 0.14, ks: 0.09, p_value: 0.002 }),
  feature("country", [], {
    now: { ...sketch, kind: "text", rows: 120, min: null, max: null, mean: null },
    verdict: "too_little_data",
    told: "the window has 120 of 300 rows",
    psi: null,
    ks: null,
    p_value: null,
    bars: [
      { label: "DE", baseline: 0.5, now: 0.45 },
      { label: "AT", baseline: 0.3, now: 0.35 },
      { label: "CH", baseline: 0.2, now: 0.2 },
    ],
  }),
];

const unknown = (one: CaptureFeature): CaptureFeature => ({
  ...one,
  baseline: null,
  verdict: "no_baseline",
  told: "",
  psi: null,
  ks: null,
  p_value: null,
  bars: one.bars.map((bar) => ({ ...bar, baseline: null })),
});

export const statisticsOf = (endpoint: string, deployment: string, asked: number | undefined): CaptureStatistics => {
  const hours = asked ?? baseline?.window_hours ?? 24;
  const captures = endpoint === "resnet50-prod";
  return {
    endpoint,
    deployment,
    capturing: captures,
    hours,
    records: captures ? 4_812 : 0,
    left_out: captures && baseline && hours > 48 ? 1_204 : 0,
    dropped: captures ? 12 : 0,
    least_rows: 300,
    untold_features: 0,
    baseline: captures ? baseline : null,
    features: captures ? (baseline ? FEATURES : FEATURES.map(unknown)) : [],
  };
};

export const capturedOf = (endpoint: string): CapturedFile[] =>
  endpoint === "resnet50-prod"
    ? ["4f1c2a9e", "9b20d7aa"].map((id) => ({
        id: `${id}00000000`,
        replica: "r1",
        size: 1_310_720,
        records: 2_406,
        dropped: 6,
        first_at: AT,
        last_at: AT,
        expires_at: "2026-02-04T09:30:00Z",
      }))
    : [];

export const baselineSet = (source: string, windowHours: number) => {
  const etag = `W/"${source} ${windowHours}"`;
  baseline = { source, records: 4_812, set_by: "mara", set_at: AT, begins_at: AT, ends_at: AT, window_hours: windowHours, etag };
  return baseline;
};

export const baselineWindow = (windowHours: number) => {
  if (baseline) baseline = { ...baseline, window_hours: windowHours, etag: `W/"${windowHours}"` };
  return baseline;
};

export const baselineGone = (): void => {
  baseline = null;
};
