/** How a deployment did in the last minutes, from buckets at the gateway. */
import type { MetricColumns } from "@/api/types";
import { metricKey } from "@/live/metric-keys";
import type { Metric } from "@/metrics/registry";

export interface Recent {
  /** Requests per second, on average over the whole time that was asked for: those of all deployments add up to the endpoint's. */
  rate: number | null;
  /** p95 of the worst bucket, in microseconds. */
  p95: number | null;
  /** Share of answers from 400 on. */
  errors: number | null;
  requests: number;
}

const ANSWERS: Metric[] = ["answers_2xx", "errors_4xx", "errors_5xx"];
export const RECENT_METRICS = [...ANSWERS, "p95_us"].join(",");

/** The bucket that is under way says too little: it is left out where there are others that say anything. */
export function recent(columns: MetricColumns, scope: string): Recent {
  const column = (metric: Metric) => columns.v[columns.keys.indexOf(metricKey(metric, scope))] ?? [];
  const whole = columns.t.length - 1;
  const end = column("answers_2xx")
    .slice(0, whole)
    .some((value) => value !== null)
    ? whole
    : whole + 1;
  const read = (metric: Metric) => column(metric).slice(0, end);
  const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const [good, bad, worse] = ANSWERS.map(read);
  const known = (good ?? []).some((value) => value !== null);
  const failed = sum(bad ?? []) + sum(worse ?? []);
  const all = sum(good ?? []) + failed;
  const slow = read("p95_us").filter((value): value is number => value !== null);
  return {
    rate: known ? all / end : null,
    p95: slow.length > 0 ? Math.max(...slow) : null,
    errors: all > 0 ? failed / all : null,
    requests: Math.round(all * columns.step_s),
  };
}
