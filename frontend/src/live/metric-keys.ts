/** Names of live metrics: `<metric>.<deployment or all>`, and `batch.<size>.all`. */

export const ALL = "all";

export type Metric =
  | "request_rate"
  | "inference_rate"
  | "error_rate"
  | "errors_4xx"
  | "errors_5xx"
  | "p50_us"
  | "p95_us"
  | "p99_us"
  | "queue_us"
  | "compute_input_us"
  | "compute_infer_us"
  | "compute_output_us"
  | "mean_batch"
  | "pending"
  | "memory_bytes";

/** Key of a metric for one deployment, or for the endpoint as a whole. */
export const metricKey = (metric: Metric, scope: string = ALL): string => `${metric}.${scope}`;

export interface ParsedKey {
  metric: string;
  scope: string;
}

/** Null when the key is not of the form `metric.scope`. A deployment's own name may hold dots. */
export function parseKey(key: string): ParsedKey | null {
  const dot = key.indexOf(".");
  if (dot <= 0 || dot === key.length - 1) return null;
  return { metric: key.slice(0, dot), scope: key.slice(dot + 1) };
}

/** Batch sizes that have a series, ascending. */
export function batchSizes(keys: readonly string[]): number[] {
  const sizes = new Set<number>();
  for (const key of keys) {
    const match = /^batch\.(\d+)\.all$/.exec(key);
    if (match?.[1]) sizes.add(Number(match[1]));
  }
  return [...sizes].sort((a, b) => a - b);
}

export const batchKey = (size: number): string => `batch.${size}.all`;
