/**
 * Names of metrics: `<metric>.<deployment or all>`, `<metric>.node:<name>` for machines,
 * `<metric>.replica:<deployment>/<id>` for replicas, and for batch sizes `batch.<size>.all` and `batch_us.<size>.all`.
 */
import type { Metric } from "@/metrics/registry";

export const ALL = "all";
const NODE = "node:";

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
export const batchTimeKey = (size: number): string => `batch_us.${size}.all`;

export const hostKey = (gauge: string, node: string): string => `${gauge}.${NODE}${node}`;

/** Machines that have series, with the numbers of their GPUs. Not every GPU tells how busy it is. */
export function hosts(keys: readonly string[]): { node: string; gpus: number[] }[] {
  const found = new Map<string, Set<number>>();
  for (const key of keys) {
    const parsed = key.includes("#") ? null : parseKey(key);
    if (!parsed?.scope.startsWith(NODE)) continue;
    const node = parsed.scope.slice(NODE.length);
    const gpus = found.get(node) ?? new Set();
    const gpu = /^gpu(\d+)_(?:util|memory)$/.exec(parsed.metric);
    if (gpu?.[1]) gpus.add(Number(gpu[1]));
    found.set(node, gpus);
  }
  return [...found].sort(([a], [b]) => a.localeCompare(b)).map(([node, gpus]) => ({ node, gpus: [...gpus].sort((a, b) => a - b) }));
}

const REPLICA = "replica:";

export interface ReplicaScope {
  deployment: string;
  id: string;
}

export const replicaKey = (metric: Metric, { deployment, id }: ReplicaScope): string => `${metric}.${REPLICA}${deployment}/${id}`;

/** Replicas that have series, in the order of the keys. */
export function replicaScopes(keys: readonly string[]): ReplicaScope[] {
  const found = new Map<string, ReplicaScope>();
  for (const key of keys) {
    const scope = key.includes("#") ? undefined : parseKey(key)?.scope;
    if (!scope?.startsWith(REPLICA)) continue;
    const [deployment = "", id = ""] = scope.slice(REPLICA.length).split("/");
    found.set(scope, { deployment, id });
  }
  return [...found.values()];
}

/** Keys of the lowest and highest value in each bucket of a series. */
export const lowKey = (key: string): string => `${key}#low`;
export const highKey = (key: string): string => `${key}#high`;
