/** Load sweeps of the made-up installation: one that is over, an earlier one, and those that are begun. */
import type { LoadSweep, LoadSweepPoint, LoadSweepSummary } from "../src/api/types";

const point = (level: number, throughput: number, p50: number, p99: number, more: Partial<LoadSweepPoint> = {}): LoadSweepPoint => ({
  level,
  seconds: 5,
  good: Math.round(throughput * 5),
  throughput,
  mean_us: (level / throughput) * 1e6,
  p50_us: p50,
  p90_us: p50 * 1.4,
  p95_us: p50 * 1.6,
  p99_us: p99,
  errors: {},
  failed: 0,
  error_share: 0,
  within_slo: p99 <= 60_000,
  batch: Math.min(8, level * 0.6),
  queue_us: p50 / 4,
  compute_us: p50 / 2,
  others: 0,
  client_busy: 0.2,
  ...more,
});

const OVER: LoadSweep = {
  id: "sweep-2",
  state: "Succeeded",
  endpoint: "resnet50-prod",
  deployment: "blue",
  revision: 3,
  replica: "r1",
  node: "gpu-a1",
  model: "resnet50",
  model_version: "",
  case: "",
  batch: 1,
  shapes: {},
  mode: "concurrency",
  levels: [1, 2, 4, 8, 16, 32],
  seconds: 5,
  warm_up_s: 1,
  slo_percentile: 99,
  slo_ms: 60,
  expected_s: 36,
  traffic: 90,
  stopped_by: "p99 at 16 was 85 ms, over 60",
  error: null,
  created_by: "maria",
  created_at: "2026-11-27T06:00:00Z",
  finished_at: "2026-11-27T06:00:36Z",
  points: [
    point(1, 52, 18_000, 24_000),
    point(2, 101, 19_000, 27_000),
    point(4, 190, 20_500, 33_000),
    point(8, 310, 25_000, 52_000),
    point(16, 330, 47_000, 85_000, { errors: { "HTTP 503": 3 }, failed: 3, error_share: 0.002, others: 41 }),
  ],
  knee: 8,
  knee_throughput: 310,
  slo_level: 8,
  slo_throughput: 310,
  perf_analyzer:
    "perf_analyzer -m resnet50 -i http -u REPLICA:PORT --concurrency-range 1:32:1 --measurement-interval 5000 --percentile 99 -l 60",
};
const EARLIER: LoadSweep = {
  ...OVER,
  id: "sweep-1",
  revision: 2,
  created_at: "2026-11-26T06:00:00Z",
  stopped_by: "",
  points: OVER.points.slice(0, 4).map((one) => ({ ...one, throughput: one.throughput * 0.7, p99_us: one.p99_us * 1.3 })),
  knee: 4,
  knee_throughput: 133,
};

let sweeps: LoadSweep[] = [OVER, EARLIER];

const summary = ({ points, ...rest }: LoadSweep): LoadSweepSummary => ({ ...rest, measured: points.length });

export const sweepsOf = (endpoint: string): LoadSweepSummary[] => sweeps.filter((one) => one.endpoint === endpoint).map(summary);

export function sweepBegun(endpoint: string, body: Record<string, unknown>): LoadSweep {
  const begun: LoadSweep = {
    ...OVER,
    id: `sweep-${sweeps.length + 1}`,
    endpoint,
    state: "Running",
    levels: body["levels"] as number[],
    slo_percentile: null,
    slo_ms: null,
    stopped_by: "",
    points: [],
    knee: null,
    knee_throughput: null,
    slo_level: null,
    slo_throughput: null,
    created_at: new Date().toISOString(),
    finished_at: null,
  };
  sweeps = [begun, ...sweeps];
  return begun;
}

export function sweepAnswer(id: string, action: string | undefined): LoadSweep | undefined {
  if (action === "cancel") sweeps = sweeps.map((one) => (one.id === id ? { ...one, state: "Canceled" as const } : one));
  return sweeps.find((one) => one.id === id);
}
