/** A `WebSocket` that talks like `/ws/v1`: a snapshot, then made-up ticks at 2 Hz. */
import { batchKey, batchTimeKey, hostKey, metricKey, replicaKey } from "../src/live/metric-keys";
import type { Metric } from "../src/metrics/registry";
import { consoleAnswer } from "./console";
import { endpoints } from "./db";
import { pipelineOf } from "./pipelines";

const HZ = 2;
const SIZES = [1, 2, 4, 8, 16, 32, 64];
const SHARES = [0.078, 0.066, 0.1, 0.27, 0.28, 0.17, 0.027];

/** Smooth noise that is the same for the same moment, so that charts look alike after a reload. */
function wave(t: number, seed: number): number {
  const jitter = Math.sin(t * 91.7 + seed * 13.3) * 0.5 + Math.sin(t * 37.1 + seed * 5.1) * 0.5;
  return 0.62 + 0.2 * Math.sin(t / 61 + seed) + 0.12 * Math.sin(t / 17 + seed * 2) + 0.035 * jitter;
}

function valueOf(key: string, t: number, weight: number): number | null {
  const [metric = "", scope = ""] = [key.slice(0, key.indexOf(".")), key.slice(key.indexOf(".") + 1)];
  const seed = scope === "green" ? 4 : 1;
  const load = wave(t, seed) * (scope === "green" ? 0.25 : 1) * weight;
  const spike = t % 67 < 5 ? 2.1 : 1;
  switch (metric as Metric) {
    case "inference_rate":
      return 3100 * load;
    case "answer_rate":
    case "request_rate":
      return 1640 * load;
    case "error_rate":
      return 0.0006 * (0.6 + 0.6 * Math.abs(Math.sin(t * 3.1)));
    case "errors_4xx":
      return t % 43 < 4 ? 2.5 * weight : 0.4 * weight;
    case "errors_5xx":
      return t % 97 < 3 ? 1.2 : 0;
    case "p50_us":
      return 5200 * (0.8 + 0.2 * wave(t, 2));
    case "p95_us":
      return 7900 * (0.8 + 0.2 * wave(t, 3)) * (spike > 1 ? 1.5 : 1);
    case "p99_us":
      return 10_600 * (0.8 + 0.2 * wave(t, 5)) * spike;
    case "queue_us":
      return 620 * wave(t, 3) * (spike > 1 ? 2.6 : 1);
    case "compute_input_us":
      return 210 * wave(t, 6) + 40;
    case "compute_infer_us":
      return 4400 * (0.85 + 0.15 * wave(t, 7));
    case "compute_output_us":
      return 95 * (0.8 + 0.2 * wave(t, 8));
    case "mean_batch":
      return 8 * (0.7 + 0.4 * wave(t, 1));
    case "pending":
      return Math.round(6 * wave(t, 9));
    case "answers_2xx":
      return 1640 * load;
    case "failed_canceled":
      return t % 43 < 4 ? 2 * weight : 0;
    case "failed_rejected":
    case "failed_backend":
    case "failed_other":
      return t % 97 < 3 ? 0.6 : 0;
    case "request_us":
      return 5400 * (0.85 + 0.15 * wave(t, 7));
    case "other_us":
      return 180 * wave(t, 4);
    case "queue_share":
      return 0.11 * wave(t, 3) * (spike > 1 ? 2.6 : 1);
    case "busy":
      return Math.min(1, 0.9 * wave(t, seed));
    case "cpu":
      return 6.2 * load;
    case "received":
      return 9.4e6 * load;
    case "sent":
      return 1.6e6 * load;
    case "memory_bytes":
      return (scope === "green" ? 420 : scope === "all" ? 2080 : 1660) * 2 ** 20;
    default: {
      const host = hostValue(metric, t);
      if (host !== null) return host;
      const timed = SIZES.findIndex((size) => batchTimeKey(size) === key);
      if (timed >= 0) return (900 + 190 * (SIZES[timed] ?? 0)) * (0.9 + 0.2 * wave(t, timed));
      const index = SIZES.findIndex((size) => batchKey(size) === key);
      return index < 0 ? null : (SHARES[index] ?? 0) * (0.9 + 0.2 * wave(t, index));
    }
  }
}

function hostValue(metric: string, t: number): number | null {
  if (metric === "host_cpu") return 0.55 * wave(t, 11);
  if (metric === "host_memory") return 26 * 2 ** 30 * (0.9 + 0.1 * wave(t / 9, 12));
  const gpu = /^gpu(\d)_(util|memory)$/.exec(metric);
  if (!gpu) return null;
  const index = Number(gpu[1]);
  return gpu[2] === "util" ? [0.8, 0.75, 0.4, 0.04][index]! * wave(t, index + 20) : [41, 40, 18, 1][index]! * 2 ** 30;
}

const HOST = ["host_cpu", "host_memory", ...[0, 1, 2, 3].flatMap((gpu) => [`gpu${gpu}_util`, `gpu${gpu}_memory`])];
const METRICS: Metric[] = [
  "answer_rate",
  "answers_2xx",
  "failed_rejected",
  "failed_canceled",
  "failed_backend",
  "failed_other",
  "request_us",
  "other_us",
  "queue_share",
  "busy",
  "cpu",
  "received",
  "sent",
  "request_rate",
  "inference_rate",
  "error_rate",
  "errors_4xx",
  "errors_5xx",
  "p50_us",
  "p95_us",
  "p99_us",
  "queue_us",
  "compute_input_us",
  "compute_infer_us",
  "compute_output_us",
  "mean_batch",
  "pending",
  "memory_bytes",
];

function keysOf(name: string): string[] {
  const found = endpoints.find((item) => item.name === name);
  const scopes = [...(found?.deployments.map((item) => item.name) ?? []), "all"];
  return [
    ...scopes.flatMap((scope) => METRICS.map((metric) => metricKey(metric, scope))),
    ...SIZES.map(batchKey),
    ...SIZES.map(batchTimeKey),
    ...HOST.map((gauge) => hostKey(gauge, "node-a1")),
  ];
}

/** Columns as `GET /endpoints/{e}/metrics` gives them. */
export function history(name: string, range: number) {
  const weight = name === "resnet50-prod" ? 1 : 0.05;
  const keys = keysOf(name);
  const end = Date.now() / 1000;
  const t = Array.from({ length: range * HZ }, (_, index) => end - (range * HZ - 1 - index) / HZ);
  // A short hole in the past: gaps must look like gaps.
  const hole = (at: number) => end - at > 70 && end - at < 78;
  const v: (number | null)[][] = keys.map((key) => t.map((at) => (hole(at) ? null : valueOf(key, at, weight))));
  return { keys, t, v, low: [], high: [], step_s: 1 / HZ, resolution: "live" };
}

/** Buckets of a longer time, with the lowest and highest of each. */
export function buckets(name: string, from: number, to: number, step: number) {
  const weight = name === "resnet50-prod" ? 1 : 0.05;
  const keys = keysOf(name);
  const first = Math.floor(from / step) + 1;
  const t = Array.from({ length: Math.max(1, Math.floor(to / step) - first + 1) }, (_, index) => (first + index) * step);
  const v = keys.map((key) => t.map((at) => valueOf(key, at, weight)));
  const spread = (factor: number) => v.map((values) => values.map((value) => (value === null ? null : value * factor)));
  return {
    keys,
    t,
    v,
    low: spread(0.7),
    high: spread(1.35),
    step_s: step,
    resolution: step < 60 ? "samples" : step < 3600 ? "minutes" : "hours",
  };
}

const KEPT_S = 6 * 3600;
const MOST_REPLICAS = 12;

/** Single replicas, as far back as raw samples are kept: the last of each endpoint is slower than the others. */
export function replicaBuckets(name: string, from: number, to: number, query: URLSearchParams) {
  const wanted = (query.get("metrics") ?? "").split(",").filter(Boolean) as Metric[];
  const known = (endpoints.find((item) => item.name === name)?.deployments ?? [])
    .filter((one) => [null, one.name].includes(query.get("deployment")))
    .flatMap((one) => one.replicas.map((replica) => ({ deployment: one.name, id: replica.id, node: replica.node })))
    .filter((one) => [null, one.node].includes(query.get("node")));
  const step = [5, 10, 60, 300, 600, 3600].find((width) => (to - from) / width <= 600) ?? 3600;
  const first = Math.floor(Math.max(from, Date.now() / 1000 - KEPT_S) / step) + 1;
  const t = Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, index) => (first + index) * step);
  const shown = t.length > 0 ? known.slice(0, MOST_REPLICAS) : [];
  const columns = shown.flatMap((scope, index) => wanted.map((metric) => ({ metric, scope, index })));
  const share = (metric: Metric) =>
    ["request_rate", "inference_rate", "cpu", "memory_bytes", "pending"].includes(metric) ? 1 / Math.max(1, shown.length) : 1;
  const slow = (metric: Metric, index: number) => (index === shown.length - 1 && ["request_us", "queue_us"].includes(metric) ? 1.9 : 1);
  const v = columns.map(({ metric, scope, index }) =>
    t.map((at) => {
      const value = valueOf(metricKey(metric, scope.deployment), at + index * 31, name === "resnet50-prod" ? 1 : 0.05);
      return value === null ? null : value * share(metric) * slow(metric, index);
    }),
  );
  return {
    keys: columns.map(({ metric, scope }) => replicaKey(metric, scope)),
    t,
    v,
    low: [],
    high: [],
    step_s: step,
    resolution: "samples",
    left_out: t.length > 0 ? known.length - shown.length : 0,
  };
}

export class MockSocket {
  onopen: ((event: Event) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  private readonly timers = new Map<string, ReturnType<typeof setInterval>>();

  private ahead = 0;

  constructor(private readonly url: string | URL = "") {
    (window as unknown as { mockTicks: (count: number) => void }).mockTicks = (count) => this.burst(count);
    setTimeout(() => this.onopen?.(new Event("open")), 30);
  }

  send(text: string | Uint8Array): void {
    // Tensors come as bytes; what they hold changes no answer.
    if (typeof text !== "string") return;
    if (String(this.url).includes("/ws/v1/console/")) {
      consoleAnswer(text, (message) => this.emit(message));
      return;
    }
    const message = JSON.parse(text) as { op: string; topic: string; range?: number };
    if (message.op === "unsub") {
      clearInterval(this.timers.get(message.topic));
      this.timers.delete(message.topic);
    }
    if (message.op === "sub" && message.topic.startsWith("endpoint:")) this.start(message.topic, message.range ?? 300);
    if (message.op === "sub" && message.topic === "overview") this.overview(message.topic);
    if (message.op === "sub" && message.topic.startsWith("pipeline:")) this.pipeline(message.topic);
  }

  close(): void {
    for (const timer of this.timers.values()) clearInterval(timer);
    this.onclose?.(new CloseEvent("close", { code: 1000 }));
  }

  private start(topic: string, range: number): void {
    clearInterval(this.timers.get(topic));
    const name = topic.slice("endpoint:".length);
    const weight = name === "resnet50-prod" ? 1 : 0.05;
    const keys = keysOf(name);
    this.emit({ type: "snapshot", topic, ...history(name, range) });
    this.timers.set(
      topic,
      setInterval(() => {
        const at = Date.now() / 1000;
        this.emit({ type: "tick", topic, t: at, v: keys.map((key) => valueOf(key, at, weight)) });
      }, 1000 / HZ),
    );
  }

  /** Its figures move a little each second. */
  private pipeline(topic: string): void {
    clearInterval(this.timers.get(topic));
    const [endpoint = "", deployment = ""] = topic.slice("pipeline:".length).split("/");
    const tell = () => {
      const factor = 0.8 + 0.4 * wave(Date.now() / 1000, 5);
      const data = pipelineOf(endpoint, deployment);
      for (const one of data.models) one.request_rate = (one.request_rate ?? 0) * factor;
      this.emit({ type: "state", topic, data });
    };
    tell();
    this.timers.set(topic, setInterval(tell, 1000));
  }

  /** The whole overview every two seconds: silence would be a lost link. */
  private overview(topic: string): void {
    clearInterval(this.timers.get(topic));
    const tell = async () => this.emit({ type: "state", topic, data: await (await fetch("/api/v1/overview")).json() });
    void tell();
    this.timers.set(
      topic,
      setInterval(() => void tell(), 2000),
    );
  }

  /** So many ticks at once, as if time flew: what a page costs over hours is measured in seconds. */
  burst(count: number): void {
    for (const topic of [...this.timers.keys()].filter((each) => each.startsWith("endpoint:"))) {
      const name = topic.slice("endpoint:".length);
      const keys = keysOf(name);
      for (let index = 0; index < count; index += 1) {
        this.ahead += 1 / HZ;
        const at = Date.now() / 1000 + this.ahead;
        this.emit({ type: "tick", topic, t: at, v: keys.map((key) => valueOf(key, at, 1)) });
      }
    }
  }

  private emit(frame: unknown): void {
    this.onmessage?.(new MessageEvent("message", { data: JSON.stringify(frame) }));
  }
}

/** The last hour of several endpoints, as `/metrics/query` gives it. */
export function hour(ids: string): { keys: string[]; t: number[]; v: (number | null)[][] } {
  const names = ids.split(",").filter(Boolean);
  const metrics = ["answer_rate", "error_rate", "p95_us"] as const;
  const end = Math.floor(Date.now() / 60_000) * 60;
  const t = Array.from({ length: 60 }, (_, index) => end - (59 - index) * 60);
  const columns = names.flatMap((name) => metrics.map((metric) => ({ name, metric })));
  return {
    keys: columns.map(({ name, metric }) => `${metric}.endpoint/${name}`),
    t,
    // Each has its own course; the stopped one answers nothing.
    v: columns.map(({ name, metric }) =>
      t.map((at) =>
        name === "fraud-scores" ? null : valueOf(metricKey(metric, "all"), at + name.length * 900, name === "resnet50-prod" ? 1 : 0.05),
      ),
    ),
  };
}

/** A quarter of an hour of a node, every 15 seconds: each gauge sways within its own range. */
export function quarter(node: string, metrics: string): { keys: string[]; t: number[]; v: number[][] } {
  const names = metrics.split(",").filter(Boolean);
  const end = Math.floor(Date.now() / 15_000) * 15;
  const t = Array.from({ length: 60 }, (_, index) => end - (59 - index) * 15);
  const sway = (at: number, column: number) => 0.6 + 0.25 * Math.sin(at / (60 + 17 * column)) + 0.1 * Math.sin(at / 23 + column);
  return { keys: names.map((name) => `${name}.node/${node}`), t, v: names.map((_, column) => t.map((at) => sway(at, column))) };
}

/** What there is of somebody whom nobody asks: no rates, and neither means nor shares nor quantiles. */
function idle(key: string): number | null {
  if (/^(cpu|memory_bytes)/.test(key)) return valueOf(key, 0, 0.1);
  return /^(answer_rate|inference_rate|request_rate|busy|pending)/.test(key) ? 0 : null;
}

/** Several things side by side, as `/metrics/query` gives them. */
export function compared(query: URLSearchParams) {
  const [by, ids, metrics] = [
    query.get("by") ?? "",
    ...["ids", "metrics"].map((name) => (query.get(name) ?? "").split(",").filter(Boolean)),
  ] as [string, string[], string[]];
  const to = Number(query.get("to") ?? Date.now() / 1000);
  const from = Number(query.get("from") ?? to - Number(query.get("range") ?? 300));
  const step = Math.max(Number(query.get("step") ?? 5), Math.ceil((to - from) / 600));
  const t = Array.from({ length: Math.floor((to - from) / step) }, (_, index) => from + (index + 1) * step);
  const columns = metrics.flatMap((metric) =>
    ids.map((id, index) => ({ key: `${metric}.${by}/${id}`, of: `${metric}.${id.endsWith("green") ? "green" : "blue"}`, index })),
  );
  const v = columns.map(({ key, of, index }) =>
    t.map((at) => (key.includes("/sentiment") ? idle(of) : (valueOf(of, at + index * 40, 1) ?? 0) * (1 + 0.2 * index))),
  );
  const spread = (factor: number) => v.map((values) => values.map((value) => value && value * factor));
  return { keys: columns.map((column) => column.key), t, v, low: spread(0.8), high: spread(1.25), step_s: step, resolution: "minutes" };
}
