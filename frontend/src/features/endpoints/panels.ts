/** Which panels an endpoint has, with the series and the formula of each: what is drawn is data, not markup. */
import type { Level } from "@/components/charts/level";
import { deploymentStyles, type LineStyle } from "@/components/charts/palette";
import type { Line } from "@/components/charts/plot";
import type { Unit } from "@/components/charts/units";
import { ALL, batchKey, batchSizes, batchTimeKey, hostKey, hosts, type Metric, metricKey } from "@/live/metric-keys";

export interface Panel {
  id: string;
  title: string;
  hint: string;
  unit: Unit;
  lines: Line[];
  formula: string;
  stacked?: boolean;
  levels?: readonly Level[];
}

export interface PanelGroup {
  id: string;
  title: string;
  panels: Panel[];
}

/** Styles for series that are no deployments, in the order in which they come. */
const STYLES: LineStyle[] = [
  ...(["s1", "s2", "s5", "s4", "s6", "s3"] as const).map((color) => ({ color })),
  ...(["s1", "s2", "s5", "s4", "s6", "s3"] as const).map((color) => ({ color, dash: [6, 4] as [number, number] })),
];
/** More lines than this are not told apart. */
const MOST_LINES = 12;

/** From when on waiting is too much of a request's time. */
export const QUEUE_LEVELS: readonly Level[] = [
  { at: 0.3, word: "High", tone: "warn" },
  { at: 0.6, word: "Severe", tone: "error" },
];

const line = (metric: Metric, scope: string, label: string, color: LineStyle["color"]): Line => ({
  key: metricKey(metric, scope),
  label,
  color,
});

/** One line per deployment, in its colour; only the chosen one when one is chosen. */
function perDeployment(metric: Metric, deployments: readonly string[], scope: string, fill = false): Line[] {
  const styles = deploymentStyles(deployments);
  const shown = scope === ALL ? deployments : [scope];
  return shown.map((name, index) => ({
    key: metricKey(metric, name),
    label: name,
    fill: fill && index === 0,
    ...(styles.get(name) ?? { color: "s1" as const }),
  }));
}

/** One line for each, told apart by colour and dash; more than can be told apart are left out. */
export function styled(keys: readonly { key: string; label: string }[]): Line[] {
  return keys.slice(0, MOST_LINES).map((one, index) => ({ ...one, ...(STYLES[index] ?? { color: "s1" as const }) }));
}

function traffic(deployments: readonly string[], scope: string): Panel[] {
  return [
    {
      id: "throughput",
      title: "Throughput",
      hint: "inferences per second",
      unit: "inf/s",
      lines: perDeployment("inference_rate", deployments, scope, true),
      formula: "Increase of nv_inference_count per second, summed over replicas. A batch of 8 counts as 8; answers from the cache do not count. Requests to an ensemble count once.",
    },
    {
      id: "requests",
      title: "Requests",
      hint: "per second, in the runtimes",
      unit: "req/s",
      lines: perDeployment("request_rate", deployments, scope, true),
      formula: "Increase of nv_inference_request_success and nv_inference_request_failure per second, summed over replicas.",
    },
    {
      id: "answers",
      title: "Answers by status",
      hint: "per second, at the gateway",
      unit: "req/s",
      stacked: true,
      lines: [
        line("answers_2xx", scope, "2xx", "s1"),
        line("errors_4xx", scope, "4xx", "s5"),
        line("errors_5xx", scope, "5xx", "s2"),
      ],
      formula: "Answers of the gateway by class of their status, per second. 4xx are the caller's, 5xx are ours.",
    },
    {
      id: "error-rate",
      title: "Error rate",
      hint: "share of all answers, at the gateway",
      unit: "percent",
      lines: perDeployment("error_rate", deployments, scope),
      formula: "Answers with a status of 400 to 599 divided by all answers, over 5 s. No requests, no value.",
    },
    {
      id: "failures",
      title: "Errors by reason",
      hint: "per second, in the runtimes",
      unit: "errors/s",
      stacked: true,
      lines: [
        line("failed_rejected", scope, "rejected", "s5"),
        line("failed_canceled", scope, "canceled", "s6"),
        line("failed_backend", scope, "backend", "s2"),
        line("failed_other", scope, "other", "s4"),
      ],
      formula: "Increase of nv_inference_request_failure per second by reason: REJECTED by a full queue or its deadline, CANCELED by the client, BACKEND when the model raised, OTHER.",
    },
    {
      id: "bytes",
      title: "Bytes",
      hint: "bodies at the gateway",
      unit: "bytes/s",
      lines: [line("received", scope, "received", "s1"), line("sent", scope, "sent", "s4")],
      formula: "Bytes of request and answer bodies through the gateway, per second.",
    },
  ];
}

function latency(deployments: readonly string[], scope: string, streams: boolean): Panel[] {
  const panels: Panel[] = [
    {
      id: "latency",
      title: "Latency",
      hint: "request, at the gateway",
      unit: "duration",
      lines: [line("p99_us", scope, "p99", "s2"), line("p95_us", scope, "p95", "s5"), line("p50_us", scope, "p50", "s1")],
      formula: "Quantiles of the gateway's own histogram (buckets of 5 %), merged over replicas, over 5 s. From the first byte received to the last byte sent.",
    },
    {
      id: "p95",
      title: "Latency p95 by deployment",
      hint: "at the gateway",
      unit: "duration",
      lines: perDeployment("p95_us", deployments, scope),
      formula: "As before, each deployment on its own: what to compare before traffic moves.",
    },
    {
      id: "mean",
      title: "Mean request time",
      hint: "in the runtime",
      unit: "duration",
      lines: perDeployment("request_us", deployments, scope),
      formula: "Increase of nv_inference_request_duration_us divided by the increase of successful requests, over 5 s. Failures add no duration.",
    },
    {
      id: "time",
      title: "Where the time goes",
      hint: "mean per request, stacked",
      unit: "duration",
      stacked: true,
      lines: [
        line("queue_us", scope, "queue", "s2"),
        line("compute_input_us", scope, "input", "s6"),
        line("compute_infer_us", scope, "compute", "s1"),
        line("compute_output_us", scope, "output", "s4"),
        line("other_us", scope, "other", "s5"),
      ],
      formula: "Increase of nv_inference_queue_duration_us and nv_inference_compute_*_duration_us divided by the increase of successful requests (for compute: those not from the cache), over 5 s. Each request of a batch is charged the whole batch's compute. Other is the rest of the request.",
    },
    {
      id: "queue-share",
      title: "Queue share",
      hint: "waiting, of the request time",
      unit: "percent",
      lines: perDeployment("queue_share", deployments, scope),
      formula: "Increase of nv_inference_queue_duration_us divided by that of nv_inference_request_duration_us, over 5 s. High: above 30 % for a minute; severe: above 60 %. More instances or larger batches help.",
      levels: QUEUE_LEVELS,
    },
  ];
  if (streams) {
    panels.push({
      id: "first",
      title: "First response",
      hint: "streaming models",
      unit: "duration",
      lines: [line("first_p95_us", scope, "p95", "s5"), line("first_p50_us", scope, "p50", "s1")],
      formula: "Quantiles interpolated within the buckets of nv_inference_first_response_histogram_ms, merged over replicas.",
    });
  }
  return panels;
}

function batching(deployments: readonly string[], scope: string, sizes: readonly number[], caches: boolean): Panel[] {
  // why the largest: with many sizes the full batches are what batching is judged by.
  const shown = sizes.slice(-MOST_LINES);
  const panels: Panel[] = [
    {
      id: "pending",
      title: "Waiting now",
      hint: "requests in queues",
      unit: "count",
      lines: perDeployment("pending", deployments, scope),
      formula: "nv_inference_pending_request_count, summed over replicas.",
    },
    {
      id: "mean-batch",
      title: "Mean batch",
      hint: "inferences per execution",
      unit: "decimal",
      lines: perDeployment("mean_batch", deployments, scope),
      formula: "Increase of nv_inference_count divided by that of nv_inference_exec_count, over 5 s.",
    },
    {
      id: "batch-sizes",
      title: "Batch sizes",
      hint: "share of executions, all deployments",
      unit: "percent",
      stacked: true,
      lines: styled(shown.map((size) => ({ key: batchKey(size), label: String(size) }))),
      formula: "Executions with this batch size divided by all executions, over 60 s. An execution is one call of the model; it may hold several requests.",
    },
    {
      id: "batch-time",
      title: "Compute per batch size",
      hint: "mean of all deployments",
      unit: "duration",
      lines: styled(shown.map((size) => ({ key: batchTimeKey(size), label: String(size) }))),
      formula: "Time in the model of executions with this batch size divided by their number, over 60 s. Divided by the size it tells which batch is worth waiting for.",
    },
    {
      id: "busy",
      title: "Instances busy",
      hint: "share of their time",
      unit: "percent",
      lines: perDeployment("busy", deployments, scope),
      formula: "Time that instances spent making, executing and splitting batches, divided by the time that passed and by the number of instances. Above 90 %: add one.",
    },
  ];
  if (caches) {
    panels.push({
      id: "cache",
      title: "Cache hits",
      hint: "share of look-ups",
      unit: "percent",
      lines: perDeployment("cache_hits", deployments, scope),
      formula: "Increase of nv_cache_num_hits_per_model divided by that of hits and misses, over 5 s.",
    });
  }
  return panels;
}

function resources(deployments: readonly string[], scope: string, keys: readonly string[]): Panel[] {
  const nodes = hosts(keys);
  const gpus = nodes.flatMap(({ node, gpus: indices }) =>
    indices.map((index) => ({ node, index, label: nodes.length > 1 ? `${node} GPU ${index}` : `GPU ${index}` })),
  );
  const panels: Panel[] = [
    {
      id: "cpu",
      title: "Processor",
      hint: "cores in use by the replicas",
      unit: "decimal",
      lines: perDeployment("cpu", deployments, scope),
      formula: "Processor seconds of the runtime processes per second, summed over replicas: 2.0 are two cores at work.",
    },
    {
      id: "memory",
      title: "Memory",
      hint: "resident, all replicas",
      unit: "bytes",
      lines: perDeployment("memory_bytes", deployments, scope),
      formula: "Resident memory of the runtime processes, summed over the replicas of a deployment.",
    },
    {
      id: "host-cpu",
      title: "Host processor",
      hint: "the whole machine",
      unit: "percent",
      lines: styled(nodes.map(({ node }) => ({ key: hostKey("host_cpu", node), label: node }))),
      formula: "Processor time in use on the nodes that run this endpoint, whoever uses it.",
    },
    {
      id: "host-memory",
      title: "Host memory",
      hint: "in use on the whole machine",
      unit: "bytes",
      lines: styled(nodes.map(({ node }) => ({ key: hostKey("host_memory", node), label: node }))),
      formula: "Total minus available memory of the nodes that run this endpoint.",
    },
    {
      id: "gpu",
      title: "GPU utilisation",
      hint: "whole devices",
      unit: "percent",
      lines: styled(gpus.map(({ node, index, label }) => ({ key: hostKey(`gpu${index}_util`, node), label }))),
      formula: "Share of time in which a kernel ran, as the driver tells it, for each device of the nodes that run this endpoint.",
    },
    {
      id: "gpu-memory",
      title: "GPU memory",
      hint: "whole devices",
      unit: "bytes",
      lines: styled(gpus.map(({ node, index, label }) => ({ key: hostKey(`gpu${index}_memory`, node), label }))),
      formula: "Memory in use on each device, whoever uses it.",
    },
  ];
  return panels.filter((panel) => panel.lines.length > 0);
}

/** The groups of the metrics page. Panels that nothing could ever fill (no GPU, no cache, no stream) are left out. */
export function panelGroups(
  keys: readonly string[],
  deployments: readonly string[],
  scope: string,
  has: { cache: boolean; streams: boolean },
): PanelGroup[] {
  return [
    { id: "traffic", title: "Traffic", panels: traffic(deployments, scope) },
    { id: "latency", title: "Latency", panels: latency(deployments, scope, has.streams) },
    { id: "batching", title: "Queue, batches, instances", panels: batching(deployments, scope, batchSizes(keys), has.cache) },
    { id: "resources", title: "Machines", panels: resources(deployments, scope, keys) },
  ];
}
