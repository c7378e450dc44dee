/** What a GPU shows of itself: each reading as it is now, how much of its limit that is, and how it went. */
import { t } from "@lingui/core/macro";
import type { Gpu, MetricColumns } from "@/api/types";
import { type GpuMetric, gpuSeries } from "@/metrics/node";
import { METRICS, metricParts, metricText } from "@/metrics/registry";
import { joined, significant } from "@/components/format";
import { share } from "./share";

const MEMORY = "gpu{index}_memory";
const UTIL = "gpu{index}_util";
const TEMPERATURE = "gpu{index}_temperature";
const POWER = "gpu{index}_power";

const J_PER_WH = 3600;

export interface Reading {
  id: GpuMetric | "energy";
  label: string;
  text: string;
  /** 0..1 of its limit; null where there is none. */
  share: number | null;
  /** The last quarter of an hour; empty where nothing was measured. */
  course: readonly (number | null)[];
}

/** The series of these devices. */
export const seriesOf = (gpus: readonly number[]): string[] =>
  gpus.flatMap((index) => ([UTIL, MEMORY, TEMPERATURE, POWER] as const).map((name) => gpuSeries(name, index)));

type Course = Pick<MetricColumns, "keys" | "v">;

export function courseOf(course: Course | undefined, node: string, gpu: number, metric: GpuMetric): readonly (number | null)[] {
  const column = course?.keys.indexOf(`${gpuSeries(metric, gpu)}.node/${node}`) ?? -1;
  const values = course?.v[column] ?? [];
  return values.some((value) => value !== null) ? values : [];
}

/** What the card does not tell is left out. */
export function readingsOf(gpu: Gpu, node: string, course?: Course): Reading[] {
  const { memory_used_bytes: used, memory_total_bytes: total, temperature_c: celsius, power_w: watts, power_limit_w: limit } = gpu;
  const reading = (id: GpuMetric, text: string, of: number | null): Reading => ({
    id,
    label: METRICS[id].label,
    text,
    share: of,
    course: courseOf(course, node, gpu.index, id),
  });
  const readings: Reading[] = [reading(MEMORY, t`${metricText(MEMORY, used)} of ${metricText(MEMORY, total)}`, share(used, total))];
  if (gpu.utilization !== null) readings.push(reading(UTIL, metricText(UTIL, gpu.utilization), gpu.utilization));
  if (celsius !== null) readings.push(reading(TEMPERATURE, metricText(TEMPERATURE, celsius), null));
  if (watts !== null) {
    const text = limit === null ? metricText(POWER, watts) : t`${metricParts(POWER, watts).value} of ${metricText(POWER, limit)}`;
    readings.push(reading(POWER, text, limit === null ? null : share(watts, limit)));
  }
  if (gpu.energy_j !== null)
    readings.push({
      id: "energy",
      label: t`Energy`,
      text: t`${energyText(gpu.energy_j)} since the driver started`,
      share: null,
      course: [],
    });
  return readings;
}

function energyText(joules: number): string {
  const hours = joules / J_PER_WH;
  return joined(hours < 1000 ? { value: significant(hours), unit: "Wh" } : { value: significant(hours / 1000), unit: "kWh" });
}
