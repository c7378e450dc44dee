/** Which metrics a view shows, in its order. */
import { t } from "@lingui/core/macro";
import type { CombinedName, ReplicaMetric, Titled } from "./registry";

export type Shown = Titled | CombinedName;

interface Group<Name> {
  id: string;
  title: string;
  panels: readonly Name[];
}

/** The tiles across the top of an endpoint. */
export const KEY_FIGURES = [
  "inference_rate",
  "answer_rate",
  "p50_us",
  "p95_us",
  "p99_us",
  "queue_share",
  "mean_batch",
  "error_rate",
] as const satisfies readonly Titled[];

/** The panels of an endpoint's overview. */
export const OVERVIEW: readonly Shown[] = [
  "inference_rate",
  "latency",
  "time",
  "batch",
  "failed",
  "memory_bytes",
  "gpu{index}_util",
  "gpu{index}_memory",
];

export const METRICS_PAGE: readonly Group<Shown>[] = [
  {
    id: "traffic",
    title: t`Traffic`,
    panels: ["inference_rate", "answer_rate", "answers", "error_rate", "request_rate", "failures", "bytes"],
  },
  { id: "latency", title: t`Latency`, panels: ["latency", "p95_us", "request_us", "time", "queue_share", "first"] },
  { id: "batching", title: t`Queue, batches, instances`, panels: ["pending", "mean_batch", "batch", "batch_us", "busy", "cache_hits"] },
  {
    id: "resources",
    title: t`Machines`,
    panels: ["cpu", "memory_bytes", "host_cpu", "host_memory", "gpu{index}_util", "gpu{index}_memory"],
  },
];

/** What each replica counts itself. */
export const REPLICAS: readonly Group<ReplicaMetric>[] = [
  { id: "traffic", title: t`Traffic`, panels: ["inference_rate", "request_rate"] },
  { id: "latency", title: t`Latency`, panels: ["request_us", "queue_us", "compute_infer_us", "queue_share"] },
  { id: "batching", title: t`Queue, batches, instances`, panels: ["pending", "mean_batch", "busy"] },
  { id: "resources", title: t`Processes`, panels: ["cpu", "memory_bytes"] },
];

const SERVED: readonly Titled[] = [
  "inference_rate",
  "answer_rate",
  "p50_us",
  "p95_us",
  "p99_us",
  "error_rate",
  "request_rate",
  "request_us",
  "queue_share",
  "mean_batch",
  "busy",
  "pending",
  "cpu",
  "memory_bytes",
];

/** Side by side. Gateways know endpoints and deployments; a model's figures come from runtimes alone, a machine's from itself. */
export const COMPARED: Record<"deployment" | "endpoint" | "model" | "node", readonly Titled[]> = {
  deployment: SERVED,
  endpoint: SERVED,
  model: ["inference_rate", "request_rate", "request_us", "queue_share", "mean_batch", "busy", "pending"],
  node: ["host_cpu", "host_memory", "disk_used", "gpu{index}_util", "gpu{index}_memory"],
};
