/** The installation at a glance. */
import { liveOf } from "../endpoint-page";
import type { Overview } from "../../src/api/types";
import { endpoints, events, nodes, operations } from "../db";
import { state } from "../answers";
import { nodesOf } from "../infrastructure";

function totalsOf(live: Overview["endpoints"][number]["live"][], machines: typeof nodes): Overview["totals"] {
  const rate = live.reduce((sum, each) => sum + (each.answer_rate ?? 0), 0);
  const failed = live.reduce((sum, each) => sum + (each.error_rate ?? 0) * (each.answer_rate ?? 0), 0);
  const slowest = live.reduce((top, each, index) => ((each.p95_us ?? 0) > (live[top]?.p95_us ?? 0) ? index : top), 0);
  const gpus = machines.flatMap((node) => node.info.gpus);
  const [disk] = machines;
  return {
    answer_rate: live.length > 0 ? rate : null,
    error_rate: rate > 0 ? failed / rate : null,
    slowest: live.length > 0 ? { endpoint: endpoints[slowest]?.name ?? "", p95_us: live[slowest]?.p95_us ?? 0 } : null,
    utilization: gpus.length > 0 ? gpus.reduce((sum, gpu) => sum + (gpu.utilization ?? 0), 0) / gpus.length : 0.2,
    gpus_online: gpus.length,
    gpus: gpus.length,
    gpu_name: gpus[0]?.name ?? "",
    gpu_memory_bytes: gpus.reduce((sum, gpu) => sum + gpu.memory_total_bytes, 0),
    least_disk: disk ? { node: disk.name, free_bytes: disk.info.disk_free_bytes, total_bytes: disk.info.disk_total_bytes } : null,
  };
}

/** Of so many endpoints, and a fifth as many nodes, as much as the server sends (`overview/selectors.py`). */
const SENT = { attention: 12, endpoints: 15, nodes: 8 };

/** The figures of a large installation, made of one of the small one. */
function manyOf(small: Overview, many: number): Overview {
  const nodes = Math.ceil(many / 5);
  const [trouble, endpoint] = [small.attention[0]!, small.endpoints[0]!];
  const named = (index: number) => `endpoint-${String(index).padStart(5, "0")}`;
  return {
    ...small,
    counts: { ...small.counts, endpoints: many, nodes, nodes_online: nodes, attention: 300 },
    totals: { ...small.totals, gpus: nodes * 8, gpus_online: nodes * 8 },
    attention: Array.from({ length: SENT.attention }, (_, index) => ({ ...trouble, title: `${named(index)} is degraded` })),
    endpoints: Array.from({ length: SENT.endpoints }, (_, index) => ({ ...endpoint, name: named(index) })),
    nodes: nodesOf(nodes)
      .slice(0, SENT.nodes)
      .map((node) => ({ ...node, replicas: [] })),
  };
}

export function overview(): Overview {
  const { many, empty } = state;
  return many > 0 && !empty ? manyOf(small(), many) : small();
}

function small(): Overview {
  if (state.empty) {
    return {
      counts: { endpoints: 0, models: 0, nodes: 1, nodes_online: 1, replicas_ready: 0, replicas_total: 0, attention: 0 },
      totals: totalsOf([], nodes.slice(0, 1)),
      attention: [],
      endpoints: [],
      nodes: nodes.slice(0, 1).map((node) => ({ ...node, replicas: [] })),
      recent_operations: [],
      recent_events: [],
    };
  }
  const live = endpoints.map((_, index) => liveOf(index));
  return {
    counts: { endpoints: 4, models: 4, nodes: 2, nodes_online: 2, replicas_ready: 7, replicas_total: 8, attention: 2 },
    totals: totalsOf(live, nodes),
    attention: [
      {
        severity: "error",
        title: "sentiment is degraded",
        detail: "1 of 2 replicas of blue is not ready: exit code 137, out of memory",
        link: "/endpoints/sentiment/deployments",
      },
      { severity: "warning", title: "node-a2 is cordoned", detail: "It keeps what it runs but takes nothing new", link: "/nodes/node-a2" },
    ],
    endpoints: endpoints.map((item, index) => ({
      ...item,
      live: liveOf(index),
    })),
    nodes,
    recent_operations: operations.slice(0, 7).map((item) => ({
      ...item,
      stage: item.stages.find((stage) => stage.status === "running" || stage.status === "failed")?.title ?? "",
    })),
    recent_events: events.slice(0, 7),
  };
}
