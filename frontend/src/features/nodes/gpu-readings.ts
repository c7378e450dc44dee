/** What a GPU shows of itself: each reading as it is now, how much of its limit that is, and how it went. */
import type { Gpu, MetricColumns } from "@/api/types";
import { bytes, count, percent } from "@/components/format";
import { share } from "./share";

export interface Reading {
  id: "memory" | "util" | "temperature" | "power";
  label: string;
  text: string;
  /** 0..1 of its limit; null where there is none. */
  share: number | null;
  /** The last quarter of an hour; empty where nothing was measured. */
  course: readonly (number | null)[];
}

type Course = Pick<MetricColumns, "keys" | "v">;

export function courseOf(course: Course | undefined, node: string, gpu: number, gauge: Reading["id"]): readonly (number | null)[] {
  const column = course?.keys.indexOf(`gpu${gpu}_${gauge}.node/${node}`) ?? -1;
  const values = course?.v[column] ?? [];
  return values.some((value) => value !== null) ? values : [];
}

/** What the card does not tell is left out. */
export function readingsOf(gpu: Gpu, node: string, course?: Course): Reading[] {
  const past = (gauge: Reading["id"]) => courseOf(course, node, gpu.index, gauge);
  const { memory_used_bytes: used, memory_total_bytes: total, temperature_c: celsius, power_w: watts, power_limit_w: limit } = gpu;
  const readings: Reading[] = [
    { id: "memory", label: "Memory", text: `${bytes(used)} of ${bytes(total)}`, share: share(used, total), course: past("memory") },
    { id: "util", label: "Busy", text: percent(gpu.utilization), share: gpu.utilization, course: past("util") },
  ];
  if (celsius !== null) {
    readings.push({ id: "temperature", label: "Temperature", text: `${count(celsius)}\u00a0°C`, share: null, course: past("temperature") });
  }
  if (watts !== null) {
    const text = limit === null ? `${count(watts)}\u00a0W` : `${count(watts)} of ${count(limit)}\u00a0W`;
    readings.push({ id: "power", label: "Power", text, share: limit === null ? null : share(watts, limit), course: past("power") });
  }
  return readings;
}
