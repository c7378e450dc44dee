/** The installation in six figures. */
import { plural, t } from "@lingui/core/macro";
import type { MetricColumns, Overview } from "@/api/types";
import { type Measured } from "@/components/format";
import { helpOf, METRICS, metricParts } from "@/metrics/registry";

export interface Tile {
  id: string;
  label: string;
  value: Measured;
  /** What the figure is made of, for the tooltip. */
  formula: string;
  /** A remark below: "sentiment" for the worst p95. */
  note?: string;
  bad?: boolean;
  course?: (number | null)[];
}

export interface Course {
  requests: (number | null)[];
  errors: (number | null)[];
  p95: (number | null)[];
}

export const COURSE_METRICS = ["answer_rate", "error_rate", "p95_us"].join(",");

const BAD_ERRORS = 0.01;
const LITTLE_DISK = 0.1;

const known = (values: (number | null | undefined)[]): number[] => values.filter((value): value is number => typeof value === "number");
const sum = (values: (number | null)[]): number | null => {
  const numbers = known(values);
  return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0);
};

/** Answers of gateways add up, and weigh the errors; of the latencies the worst counts, since quantiles do not add. */
export function courseOf({ keys, t, v }: MetricColumns): Course {
  const columns = (metric: string) => keys.flatMap((key, index) => (key.startsWith(`${metric}.`) ? [v[index] ?? []] : []));
  const rates = columns("answer_rate");
  const errors = columns("error_rate");
  const p95s = columns("p95_us");
  const at = (index: number, of: readonly (readonly (number | null)[])[]) => of.map((column) => column[index] ?? null);
  return {
    requests: t.map((_, index) => sum(at(index, rates))),
    errors: t.map((_, index) => {
      const weights = errors.map((_, row) => rates[row]?.[index] ?? 0);
      const total = sum(weights);
      if (!total) return null;
      return at(index, errors).reduce<number>((failed, share, row) => failed + (share ?? 0) * (weights[row] ?? 0), 0) / total;
    }),
    p95: t.map((_, index) => {
      const numbers = known(at(index, p95s));
      return numbers.length === 0 ? null : Math.max(...numbers);
    }),
  };
}

export function tilesOf({ counts, totals }: Overview, course: Course | null): Tile[] {
  const { answer_rate: requests, error_rate: errors, slowest, least_disk: fullest, gpus_online: gpus } = totals;
  const { replicas_ready: ready, replicas_total: total, nodes_online: online } = counts;
  return [
    {
      id: "requests",
      label: METRICS.answer_rate.title,
      value: metricParts("answer_rate", requests),
      formula: t`Sum over all endpoints. ${helpOf("answer_rate")}`,
      ...(course ? { course: course.requests } : {}),
    },
    {
      id: "errors",
      label: METRICS.error_rate.title,
      value: metricParts("error_rate", errors),
      formula: t`Mean over all endpoints, weighed by what the gateway answered. ${helpOf("error_rate")}`,
      bad: (errors ?? 0) > BAD_ERRORS,
      ...(course ? { course: course.errors } : {}),
    },
    {
      id: "p95",
      label: t`Slowest ${METRICS.p95_us.label}`,
      value: metricParts("p95_us", slowest?.p95_us ?? null),
      formula: t`The highest p95 of any endpoint; quantiles of several do not add up`,
      ...(slowest ? { note: slowest.endpoint } : {}),
      ...(course ? { course: course.p95 } : {}),
    },
    {
      id: "busy",
      label: gpus > 0 ? t`GPUs busy` : t`CPUs busy`,
      value: metricParts(gpus > 0 ? "gpu{index}_util" : "host_cpu", totals.utilization),
      formula:
        gpus > 0
          ? plural(gpus, { one: "Mean over # GPU that reports", other: "Mean over # GPUs that report" })
          : plural(online, { one: "Mean over # node that reports", other: "Mean over # nodes that report" }),
    },
    {
      id: "replicas",
      label: t`Replicas ready`,
      value: { value: `${ready}`, unit: t`of ${total}` },
      formula: t`Replicas that answer, of those that deployments ask for`,
      bad: ready < total,
    },
    {
      id: "disk",
      label: t`Least disk free`,
      value: metricParts("disk_used", fullest?.free_bytes ?? null),
      formula: t`On the node whose disk is fullest`,
      ...(fullest ? { note: fullest.node, bad: fullest.free_bytes / fullest.total_bytes < LITTLE_DISK } : {}),
    },
  ];
}
