/** A rollout that is under way in the made-up installation, and what pressing its buttons makes of it. */
import type { Rollout, RolloutDifference, RolloutFigure } from "../src/api/types";
import { ago } from "./db";

const figure = (measure: RolloutFigure["measure"], title: string, over: Partial<RolloutFigure> = {}): RolloutFigure => ({
  measure,
  title,
  bad: 0,
  of: 1_840,
  stable_bad: 0,
  stable_of: 7_420,
  confidence: 0,
  needed: 0.999,
  tolerance: 1,
  broken: false,
  text: "",
  counts: "requests",
  ...over,
});

const FIRST: Rollout = {
  id: "6b1d0c52a1",
  endpoint: "resnet50-prod",
  deployment: "green",
  state: "Running",
  percent: 20,
  strategy: "steps",
  shadow: null,
  stages: [
    { percent: 5, hold_s: 300, mirror: 0, status: "succeeded", started_at: ago(460), ended_at: ago(160), requests: 1_210 },
    { percent: 20, hold_s: 300, mirror: 0, status: "running", started_at: ago(160), ended_at: null, requests: 630 },
    { percent: 100, hold_s: 0, mirror: 0, status: "pending", started_at: null, ended_at: null, requests: 0 },
  ],
  min_requests: 200,
  guardrails: { errors: { tolerance: 1, confidence: 0.993 } },
  previous_traffic: { blue: 100 },
  reason: "20 % for 140 s more.",
  cause: "hold_time",
  missing_requests: 0,
  answers_checked: true,
  figures: [
    figure("errors", "Server errors (5xx)", { bad: 9, stable_bad: 22, confidence: 0.4312, needed: 0.993 }),
    figure("refusals", "Refused requests (4xx)", { bad: 2, stable_bad: 9 }),
    figure("latency_p95", "Latency, p95", { bad: 71, stable_bad: 366, tolerance: 1.2 }),
    figure("restarts", "Restarts of replicas", { of: 1, stable_of: 4, confidence: null, needed: null, counts: "replicas" }),
    figure("saturation", "Use of its replicas", {
      bad: 31,
      of: 100,
      stable_bad: 44,
      stable_of: 100,
      confidence: null,
      needed: null,
      tolerance: 0.95,
      counts: "percent",
    }),
    figure("golden", "Golden cases", { of: 3, stable_of: 0, confidence: null, needed: null, tolerance: 0, counts: "cases" }),
  ],
  latency: [
    { quantile: 0.95, candidate_us: 12_400, stable_us: 11_800 },
    { quantile: 0.99, candidate_us: 19_900, stable_us: 18_300 },
  ],
  compare: {
    per_minute: 30,
    by: "values",
    relative: 1e-3,
    absolute: 1e-5,
    sources: ["cases", "random", "captured"],
    captured_hours: 24,
  },
  compared: {
    unanswered: 0,
    example: "a captured request to resnet50: scores differs",
    sources: [
      { source: "cases", inputs: 24, differing: 0 },
      { source: "captured", inputs: 120, differing: 2 },
    ],
    captured:
      "120 captured requests were compared: 80 are missing before 5 % of other answers are likely to be noticed. Of those looked at last 40 cannot be asked again: 40 have hashed fields.",
    differences: 2,
  },
  golden: { at: Date.now() / 1000 - 20, cases: 3, wrong: [], unanswered: [] },
  judged_at: ago(1),
  paused_by: "",
  created_by: "maria",
  created_at: ago(460),
  ended_by: "",
  finished_at: null,
};

/** What both answered to two requests of clients; the file of one is too old. */
export const DIFFERENCES: RolloutDifference[] = [
  {
    source: "captured",
    model: "resnet50",
    at: ago(20),
    text: "scores 1 of 1000 values differ [0, 8]: 0.41, expected 0.97",
    file: "5c0ffee05c0ffee05c0ffee05c0ffee0",
    line: 17,
    kept: true,
    deployment: "blue",
  },
  {
    source: "captured",
    model: "resnet50",
    at: ago(80),
    text: "scores 2 of 1000 values differ, most of all [0, 3]: 0.2, expected 0.1",
    file: "0ddba110ddba110ddba110ddba110ddb",
    line: 4,
    kept: false,
    deployment: "",
  },
];

const ENDINGS: Record<string, Partial<Rollout>> = {
  pause: { state: "Paused", paused_by: "maria", cause: "paused", reason: "maria has paused it; guardrails go on." },
  promote: { state: "Succeeded", percent: 100, cause: "promoted", reason: "maria promoted it: green has all of the traffic." },
  abort: { state: "Aborted", percent: 0, cause: "aborted", reason: "maria aborted it: back to blue 100 %." },
};

let current = FIRST;

/** Those of an endpoint, newest first. */
export const rolloutsOf = (endpoint: string): Rollout[] => (endpoint === FIRST.endpoint ? [current] : []);

export function rolloutBegun(endpoint: string, body: Record<string, unknown>): Rollout {
  const steps = body["steps"] as { percent: number; hold_s: number }[];
  const shadow = (body["shadow"] as Rollout["shadow"]) ?? null;
  const copies = shadow ? [{ percent: 0, hold_s: shadow.hold_s, mirror: shadow.percent }] : [];
  const taken = steps.filter((step) => step.percent > 0 || !shadow).map((step) => ({ ...step, mirror: 0 }));
  const stages = [...copies, ...taken].map((step, index) => ({
    ...step,
    status: index === 0 ? ("running" as const) : ("pending" as const),
    started_at: index === 0 ? new Date().toISOString() : null,
    ended_at: null,
    requests: 0,
  }));
  const percent = stages[0]?.percent ?? 0;
  current = {
    ...FIRST,
    endpoint,
    deployment: String(body["deployment"]),
    percent,
    strategy: body["strategy"] === "blue_green" ? "blue_green" : "steps",
    shadow,
    stages,
    figures: [],
    latency: [],
    reason: "",
    cause: "",
  };
  return current;
}

/** `resume` makes it what it was at first, whatever has become of it. */
export function rolloutChanged(action: string): Rollout {
  if (action === "resume") return (current = FIRST);
  const ended = action === "promote" || action === "abort";
  current = { ...current, ...ENDINGS[action], ...(ended ? { finished_at: new Date().toISOString(), ended_by: "maria" } : {}) };
  return current;
}
