/**
 * Every metric once: what a panel, tile, table or comparison says of one is read from here. Names and windows are the
 * server's (`x-series` in docs/openapi.json); `metrics.test.ts` compares them, and holds that no other file has its own.
 */
import { t } from "@lingui/core/macro";
import { joined, type Measured } from "@/components/format";
import { type Unit, valueParts } from "@/components/charts/units";
import { GATEWAY } from "./gateway";
import type { MetricInfo } from "./metric";
import { GPU, HOST } from "./node";
import { RUNTIME, SIZED } from "./runtime";

/** Of a deployment, and of the endpoint as a whole. */
export const OF_DEPLOYMENTS = { ...GATEWAY, ...RUNTIME };
export const METRICS = { ...OF_DEPLOYMENTS, ...SIZED, ...HOST, ...GPU };

export type MetricName = keyof typeof METRICS;
export type Metric = keyof typeof OF_DEPLOYMENTS;
export type ReplicaMetric = keyof typeof RUNTIME & Titled;

type With<Field extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name] extends Record<Field, unknown> ? Name : never;
}[MetricName];
/** Those that have a panel or tile of their own. */
export type Titled = With<"title">;

export const isOf = <Name extends string>(group: Record<Name, unknown>, name: string): name is Name => name in group;

type Line = Metric & With<"label"> & With<"color">;

/** Several metrics of one scope in one panel: of one unit and one window. */
interface Combined extends Required<Pick<MetricInfo, "title" | "hint" | "help">>, Pick<MetricInfo, "replicas" | "rare"> {
  metrics: readonly [Line, ...Line[]];
  stacked?: true;
}

export const COMBINED = {
  answers: {
    title: t`Answers by status`,
    hint: t`per second, at the gateway`,
    metrics: ["answers_2xx", "errors_4xx", "errors_5xx"],
    stacked: true,
    help: t`Answers of the gateway by class of their status, per second. 4xx are the caller's, 5xx are ours.`,
  },
  failed: {
    title: t`Errors`,
    hint: t`answers per second, at the gateway`,
    metrics: ["errors_5xx", "errors_4xx"],
    help: t`Answers of the gateway with a status of 400 to 499, and of 500 to 599, per second. 4xx are the caller's, 5xx are ours.`,
  },
  failures: {
    title: t`Errors by reason`,
    hint: t`per second, in the runtimes`,
    metrics: ["failed_rejected", "failed_canceled", "failed_backend", "failed_other"],
    stacked: true,
    help: t`Increase of nv_inference_request_failure per second by reason: REJECTED by a full queue or its deadline, CANCELED by the client, BACKEND when the model raised, OTHER.`,
    replicas: "summed",
  },
  bytes: {
    title: t`Bytes`,
    hint: t`bodies at the gateway`,
    metrics: ["received", "sent"],
    help: t`Bytes of request and answer bodies through the gateway, per second.`,
  },
  latency: {
    title: t`Latency`,
    hint: t`request, at the gateway`,
    metrics: ["p99_us", "p95_us", "p50_us"],
    help: t`Quantiles of the gateway's own histogram (buckets of 5 %), from the first byte received to the last byte sent.`,
    replicas: "merged",
  },
  time: {
    title: t`Where the time goes`,
    hint: t`mean per request, stacked`,
    metrics: ["queue_us", "compute_input_us", "compute_infer_us", "compute_output_us", "other_us"],
    stacked: true,
    help: t`Increase of nv_inference_queue_duration_us and nv_inference_compute_*_duration_us divided by the increase of successful requests (for compute: those not from the cache). Each request of a batch is charged the whole batch's compute. Other is the rest of the request.`,
  },
  first: {
    title: t`First response`,
    hint: t`streaming models`,
    metrics: ["first_p95_us", "first_p50_us"],
    help: t`Quantiles interpolated within the buckets of nv_inference_first_response_histogram_ms.`,
    replicas: "merged",
    rare: true,
  },
} as const satisfies Record<string, Combined>;

export type CombinedName = keyof typeof COMBINED;

/** What a panel or tile of one metric says. */
export const titled = (name: Titled): MetricInfo & Required<Pick<MetricInfo, "id" | "title" | "hint" | "help">> => METRICS[name];
export const combined = (name: CombinedName): Combined => COMBINED[name];

export const unitOf = (name: MetricName): Unit => METRICS[name].unit;
export const metricParts = (name: MetricName, value: number | null): Measured => valueParts(unitOf(name), value);
export const metricText = (name: MetricName, value: number | null): string => joined(metricParts(name, value));

const REPLICAS = { summed: t`Summed over replicas.`, merged: t`Merged over replicas.` };

/** How a panel is computed, in whole sentences. `alone`: each line is a single replica. */
export function helpOf(name: Titled | CombinedName, alone = false): string {
  const about: Pick<MetricInfo, "help" | "replicas"> = isOf(COMBINED, name) ? COMBINED[name] : METRICS[name];
  const window = isOf(COMBINED, name) ? METRICS[COMBINED[name].metrics[0]].window : METRICS[name].window;
  const over = window > 0 ? t`Over ${window} s, or over one point where that is longer.` : "";
  return [about.help, about.replicas && !alone ? REPLICAS[about.replicas] : "", over].filter(Boolean).join(" ");
}
