/** The metrics page per replica: what the runtimes count themselves, one line for each. Pure. */
import type { Replica } from "@/api/types";
import type { TimeRange } from "@/app/time-range";
import type { Unit } from "@/components/charts/units";
import { type Metric, replicaKey, type ReplicaScope } from "@/live/metric-keys";
import { type Panel, type PanelGroup, QUEUE_LEVELS, styled } from "./panels";

/** How long the server keeps raw samples: roll-ups know deployments and nodes, no replicas. */
export const KEPT_SECONDS = 6 * 3600;

type Counted = Pick<Panel, "id" | "title" | "hint" | "formula" | "levels"> & { unit: Unit; metric: Metric };

const GROUPS: { id: string; title: string; panels: Counted[] }[] = [
  {
    id: "traffic",
    title: "Traffic",
    panels: [
      { id: "throughput", title: "Throughput", hint: "inferences per second", unit: "inf/s", metric: "inference_rate", formula: "Increase of the replica's nv_inference_count per second. A batch of 8 counts as 8." },
      { id: "requests", title: "Requests", hint: "per second", unit: "req/s", metric: "request_rate", formula: "Increase of the replica's nv_inference_request_success and nv_inference_request_failure per second." },
    ],
  },
  {
    id: "latency",
    title: "Latency",
    panels: [
      { id: "mean", title: "Mean request time", hint: "in the runtime", unit: "duration", metric: "request_us", formula: "Increase of nv_inference_request_duration_us divided by that of successful requests." },
      { id: "queue", title: "Time in the queue", hint: "mean per request", unit: "duration", metric: "queue_us", formula: "Increase of nv_inference_queue_duration_us divided by that of successful requests." },
      { id: "compute", title: "Compute", hint: "mean per request, in the model", unit: "duration", metric: "compute_infer_us", formula: "Increase of nv_inference_compute_infer_duration_us divided by that of successful requests that were not answered from the cache. Each request of a batch is charged the whole batch." },
      { id: "queue-share", title: "Queue share", hint: "waiting, of the request time", unit: "percent", metric: "queue_share", formula: "Increase of nv_inference_queue_duration_us divided by that of nv_inference_request_duration_us. High: above 30 % for a minute; severe: above 60 %.", levels: QUEUE_LEVELS },
    ],
  },
  {
    id: "batching",
    title: "Queue, batches, instances",
    panels: [
      { id: "pending", title: "Waiting now", hint: "requests in queues", unit: "count", metric: "pending", formula: "The replica's nv_inference_pending_request_count." },
      { id: "mean-batch", title: "Mean batch", hint: "inferences per execution", unit: "decimal", metric: "mean_batch", formula: "Increase of nv_inference_count divided by that of nv_inference_exec_count." },
      { id: "busy", title: "Instances busy", hint: "share of their time", unit: "percent", metric: "busy", formula: "Time that the replica's instances were at work, divided by the time that passed and their number. Above 90 %: add one." },
    ],
  },
  {
    id: "resources",
    title: "Processes",
    panels: [
      { id: "cpu", title: "Processor", hint: "cores in use", unit: "decimal", metric: "cpu", formula: "Processor seconds of the runtime process per second: 2.0 are two cores at work." },
      { id: "memory", title: "Memory", hint: "resident", unit: "bytes", metric: "memory_bytes", formula: "Resident memory of the runtime process." },
    ],
  },
];

/** What is asked of the server: the gateway's figures belong to no replica. */
export const REPLICA_METRICS: readonly Metric[] = GROUPS.flatMap((group) => group.panels.map((panel) => panel.metric));

interface Owner {
  name: string;
  replicas: readonly Pick<Replica, "id" | "ordinal">[];
}

/** `blue 0`; what is gone by now, and what shares its number while one replaces the other, shows its id too. */
export function replicaLabel({ deployment, id }: ReplicaScope, owners: readonly Owner[]): string {
  const mates = owners.find((owner) => owner.name === deployment)?.replicas ?? [];
  const found = mates.find((one) => one.id === id);
  if (!found) return `${deployment} ${id.slice(0, 8)}, gone`;
  const alone = mates.filter((one) => one.ordinal === found.ordinal).length === 1;
  return alone ? `${deployment} ${found.ordinal}` : `${deployment} ${found.ordinal}, ${id.slice(0, 8)}`;
}

export function replicaGroups(scopes: readonly ReplicaScope[], owners: readonly Owner[]): PanelGroup[] {
  return GROUPS.map(({ panels, ...group }) => ({
    ...group,
    panels: panels.map(({ metric, ...panel }) => ({
      ...panel,
      lines: styled(scopes.map((scope) => ({ key: replicaKey(metric, scope), label: replicaLabel(scope, owners) }))),
    })),
  }));
}

/** What a reader must know of the time asked for and of who is missing; `now` in Unix seconds. */
export function replicaNotes(range: TimeRange, leftOut: number, now: number): string[] {
  const notes = ["Each replica on its own: latency quantiles, answers and bytes are measured at the gateway and belong to no replica."];
  const start = range.kind === "fixed" ? range.from : now - range.seconds;
  if (start < now - KEPT_SECONDS - 60) notes.push("Single replicas are kept for 6 hours: before that their lines are empty.");
  if (leftOut > 0) notes.push(`${leftOut} more ${leftOut === 1 ? "replica is" : "replicas are"} not drawn: choose a deployment or a node.`);
  return notes;
}

/** Why there is no line at all. */
export function noReplicas(range: TimeRange, now: number): { title: string; detail: string } {
  if (range.kind === "fixed" && range.to <= now - KEPT_SECONDS) {
    return {
      title: "Too long ago for single replicas",
      detail: "They are kept for 6 hours; after that only the sums of deployments and nodes stay. Switch “Per replica” off to see these.",
    };
  }
  return { title: "No replica was sampled in this time", detail: "A replica that runs is sampled every two seconds." };
}
