/** What the comparison page shows: which things, which panels, one line for each. Pure. */
import type { Line } from "@/components/charts/plot";
import type { Unit } from "@/components/charts/units";
import type { Endpoint, NodeItem } from "@/api/types";
import { type Panel, QUEUE_LEVELS, styled } from "../panels";

export const KINDS = ["deployment", "endpoint", "model", "node"] as const;
export type Kind = (typeof KINDS)[number];

/** The server compares so many at a time, and no more lines are told apart. */
export const MOST = 12;

interface Compared {
  id: string;
  title: string;
  hint: string;
  unit: Unit;
  metric: string;
  formula: string;
  queue?: boolean;
}

const RUNTIME: Compared[] = [
  { id: "throughput", title: "Throughput", hint: "inferences per second", unit: "inf/s", metric: "inference_rate", formula: "Increase of nv_inference_count per second, summed over replicas. A batch of 8 counts as 8." },
  { id: "requests", title: "Requests", hint: "per second, in the runtimes", unit: "req/s", metric: "request_rate", formula: "Increase of successful and failed requests per second, summed over replicas." },
  { id: "mean", title: "Mean request time", hint: "in the runtime", unit: "duration", metric: "request_us", formula: "Increase of nv_inference_request_duration_us divided by that of successful requests." },
  { id: "queue-share", title: "Queue share", hint: "waiting, of the request time", unit: "percent", metric: "queue_share", formula: "Increase of the time in queues divided by that of all request time. High: above 30 % for a minute; severe: above 60 %.", queue: true },
  { id: "mean-batch", title: "Mean batch", hint: "inferences per execution", unit: "decimal", metric: "mean_batch", formula: "Increase of nv_inference_count divided by that of nv_inference_exec_count." },
  { id: "busy", title: "Instances busy", hint: "share of their time", unit: "percent", metric: "busy", formula: "Time that instances were at work, divided by the time that passed and their number. Above 90 %: add one." },
  { id: "pending", title: "Waiting now", hint: "requests in queues", unit: "count", metric: "pending", formula: "nv_inference_pending_request_count, summed over replicas." },
];
const GATEWAY: Compared[] = [
  { id: "p50", title: "Latency p50", hint: "request, at the gateway", unit: "duration", metric: "p50_us", formula: "Half of the requests were faster; from the gateway's own histogram, merged over replicas." },
  { id: "p95", title: "Latency p95", hint: "request, at the gateway", unit: "duration", metric: "p95_us", formula: "95 of 100 requests were faster; from the gateway's own histogram, merged over replicas." },
  { id: "p99", title: "Latency p99", hint: "request, at the gateway", unit: "duration", metric: "p99_us", formula: "99 of 100 requests were faster; from the gateway's own histogram, merged over replicas." },
  { id: "errors", title: "Error rate", hint: "share of all answers, at the gateway", unit: "percent", metric: "error_rate", formula: "Answers with a status of 400 to 599 divided by all answers. No requests, no value." },
];
const PROCESS: Compared[] = [
  { id: "cpu", title: "Processor", hint: "cores in use by the replicas", unit: "decimal", metric: "cpu", formula: "Processor seconds of the runtime processes per second, summed over replicas." },
  { id: "memory", title: "Memory", hint: "resident, all replicas", unit: "bytes", metric: "memory_bytes", formula: "Resident memory of the runtime processes, summed over replicas." },
];
const MACHINE: Compared[] = [
  { id: "host-cpu", title: "Host processor", hint: "the whole machine", unit: "percent", metric: "host_cpu", formula: "Processor time in use on the machine, whoever uses it." },
  { id: "host-memory", title: "Host memory", hint: "in use on the whole machine", unit: "bytes", metric: "host_memory", formula: "Total minus available memory of the machine." },
  { id: "disk", title: "Disk", hint: "in use", unit: "bytes", metric: "disk_used", formula: "Bytes in use on the disk that holds the node's files." },
];

/** Gateways know endpoints and deployments; a model's own figures come from runtimes alone, a machine's from itself. */
const OF: Record<Kind, Compared[]> = {
  deployment: [...RUNTIME.slice(0, 2), ...GATEWAY, ...RUNTIME.slice(2), ...PROCESS],
  endpoint: [...RUNTIME.slice(0, 2), ...GATEWAY, ...RUNTIME.slice(2), ...PROCESS],
  model: RUNTIME,
  node: MACHINE,
};

/** Names of the panels that a kind has, for the choice of them. */
export const panelsOf = (kind: Kind): { id: string; title: string }[] => OF[kind].map(({ id, title }) => ({ id, title }));

const listOf = (text: string | undefined): string[] => [...new Set((text ?? "").split(",").filter(Boolean))];

/** Unknown names in a link are left out; what is left out altogether is everything. */
export function chosenPanels(kind: Kind, text: string | undefined): string[] {
  const all = panelsOf(kind).map((panel) => panel.id);
  const wanted = listOf(text).filter((id) => all.includes(id));
  return wanted.length > 0 ? all.filter((id) => wanted.includes(id)) : all;
}

export const metricsOf = (kind: Kind, panels: readonly string[]): string[] =>
  OF[kind].filter((panel) => panels.includes(panel.id)).map((panel) => panel.metric);

export function comparePanels(kind: Kind, ids: readonly string[], panels: readonly string[]): Panel[] {
  return OF[kind]
    .filter((panel) => panels.includes(panel.id))
    .map(({ metric, queue, ...panel }) => ({
      ...panel,
      lines: styled(ids.map((id): Pick<Line, "key" | "label"> => ({ key: `${metric}.${kind}/${id}`, label: id }))),
      ...(queue ? { levels: QUEUE_LEVELS } : {}),
    }));
}

/** What can be compared; models are those that an endpoint serves. */
export function choices(kind: Kind, endpoints: readonly Endpoint[], nodes: readonly NodeItem[]): string[] {
  if (kind === "node") return nodes.map((node) => node.name).sort();
  if (kind === "endpoint") return endpoints.map((endpoint) => endpoint.name).sort();
  const found =
    kind === "deployment"
      ? endpoints.flatMap((endpoint) => endpoint.deployments.map((deployment) => `${endpoint.name}/${deployment.name}`))
      : endpoints.flatMap((endpoint) => endpoint.models.flatMap((model) => model.repo_models));
  return [...new Set(found)].sort();
}

/** Names in a link that the server would refuse are left out: the rest of the link still opens. */
export const chosenIds = (kind: Kind, text: string | undefined): string[] =>
  listOf(text)
    .filter((id) => kind !== "deployment" || id.split("/").length === 2)
    .slice(0, MOST);
