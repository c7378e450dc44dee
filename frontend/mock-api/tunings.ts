/** Tunings of the made-up installation: one that is over, and those that are begun, which get further each time they are looked at. */
import type { Tuning, TuningRun, TuningSetting, TuningSummary } from "../src/api/types";

interface Refusal {
  status: number;
  code: string;
  detail: string;
  hints: string[];
}

const MIB = 1024 ** 2;
const SLO_MS = 60;
const setting = (instances: number, batch: number, delay_us: number): TuningSetting => ({ instances, batch, delay_us });
const NOW = setting(1, 8, 0);

function run(of: TuningSetting, reason: string, throughput: number, p99_ms: number, memory_mib: number, more: Partial<TuningRun> = {}) {
  const made: TuningRun = {
    setting: of,
    reason,
    within: p99_ms <= SLO_MS,
    throughput,
    latency_us: p99_ms * 1000,
    level: 16,
    memory_bytes: memory_mib * MIB,
    gpu_memory_bytes: memory_mib * 3 * MIB,
    load_seconds: 1.4,
    error: null,
    frontier: false,
    chosen: false,
    points: [],
    ...more,
  };
  return made;
}

const FAR = "far from those before: how the settings matter is not known yet";
const RUNS: TuningRun[] = [
  run(NOW, "what runs today", 310, 41, 612),
  run(setting(8, 64, 5000), FAR, 0, 0, 0, {
    within: false,
    throughput: null,
    latency_us: null,
    level: null,
    load_seconds: null,
    error: {
      code: "OutOfMemory",
      message: "The model does not fit: 4.1 GiB are wanted, 3.2 GiB are free.",
      detail: "",
      hints: ["Name fewer instances."],
    },
  }),
  run(setting(8, 8, 500), FAR, 655, 78, 4_590, { frontier: true }),
  run(setting(2, 32, 2000), FAR, 402, 69, 1_290),
  run(setting(4, 16, 500), "promises most: +28% ± 9% of the best so far", 598, 54, 2_330, { frontier: true, chosen: true }),
  run(setting(4, 32, 500), "promises most: +6% ± 7% of the best so far", 571, 58, 2_410),
  run(setting(2, 8, 100), "promises most: +3% ± 5% of the best so far", 455, 33, 1_180, { frontier: true }),
];

const OVER: Tuning = {
  id: "tuning-1",
  state: "Succeeded",
  endpoint: "resnet50-prod",
  deployment: "blue",
  revision: 3,
  model: "resnet50",
  registered_model: "resnet50",
  version: 7,
  config_revision: 1,
  node: "gpu-a1",
  case: "",
  mode: "concurrency",
  levels: [4, 16, 64],
  seconds: 2,
  warm_up_s: 0.5,
  slo_percentile: 99,
  slo_ms: SLO_MS,
  instances: [1, 2, 4, 8],
  batch_sizes: [8, 16, 32, 64],
  delays_us: [0, 100, 500, 2000, 5000],
  now: NOW,
  configurations: 80,
  budget: 8,
  measured: RUNS.length,
  current: null,
  stopped_by: "no other configuration promises 1 % more",
  applied: null,
  error: null,
  created_by: "maria",
  created_at: "2026-11-27T07:00:00Z",
  finished_at: "2026-11-27T07:02:10Z",
  runs: RUNS,
  gain: 598 / 310 - 1,
};

let tunings: Tuning[] = [OVER];

const summary = ({ runs: _runs, gain: _gain, ...rest }: Tuning): TuningSummary => rest;

/** What is measured next: the chosen one is told once all are. */
function at(tuning: Tuning, measured: number): Tuning {
  const runs = RUNS.slice(0, measured).map((one) => ({ ...one, chosen: measured === RUNS.length && one.chosen }));
  const next = RUNS[measured];
  const running = { phase: "measuring" as const, setting: next?.setting ?? NOW, reason: next?.reason ?? "", points: 1 };
  if (next) return { ...tuning, state: "Running", runs, measured, gain: null, stopped_by: "", finished_at: null, current: running };
  return { ...tuning, state: "Succeeded", runs, measured, gain: OVER.gain, stopped_by: OVER.stopped_by, current: null };
}

export const tuningsOf = (endpoint: string): TuningSummary[] => tunings.filter((one) => one.endpoint === endpoint).map(summary);

export function tuningBegun(endpoint: string, deployment: string, body: Record<string, unknown>): Tuning | Refusal {
  if (body["while_serving"] !== true)
    return {
      status: 409,
      code: "DeploymentServes",
      detail: "On gpu-a1 2 replicas answer clients: they would share its processors with the tuning.",
      hints: ["Name a node that serves nobody, or send `while_serving: true`."],
    };
  const made: Tuning = { ...OVER, id: `tuning-${tunings.length + 1}`, endpoint, deployment, created_at: new Date().toISOString() };
  const begun = at(made, 0);
  tunings = [begun, ...tunings];
  return begun;
}

function changed(tuning: Tuning, action: string | undefined): Tuning {
  if (action === "cancel") return { ...tuning, state: "Canceled", current: null };
  if (action === "apply") return { ...tuning, applied: 4 };
  return tuning.state === "Running" ? at(tuning, Math.min(tuning.measured + 4, RUNS.length)) : tuning;
}

export function tuningAnswer(id: string, action: string | undefined): Tuning | undefined {
  tunings = tunings.map((one) => (one.id === id ? changed(one, action) : one));
  return tunings.find((one) => one.id === id);
}
