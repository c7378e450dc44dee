/** What a machine says of itself, whoever uses it. Names are the server's; a GPU's number stands for `{index}`. */
import { t } from "@lingui/core/macro";
import type { MetricInfo } from "./metric";

export const HOST = {
  host_cpu: {
    unit: "percent",
    window: 0,
    id: "host-cpu",
    title: t`Host processor`,
    hint: t`the whole machine`,
    help: t`Processor time in use on the machine, whoever uses it.`,
  },
  host_memory: {
    unit: "bytes",
    window: 0,
    id: "host-memory",
    title: t`Host memory`,
    hint: t`in use on the whole machine`,
    help: t`Total minus available memory of the machine.`,
  },
  disk_used: {
    unit: "bytes",
    window: 0,
    id: "disk",
    title: t`Disk`,
    hint: t`in use`,
    help: t`Bytes in use on the disk that holds the node's files.`,
  },
} as const satisfies Record<string, MetricInfo>;

export const GPU = {
  "gpu{index}_util": {
    unit: "percent",
    window: 0,
    label: t`Busy`,
    id: "gpu",
    title: t`GPU utilisation`,
    hint: t`whole devices`,
    help: t`Share of time in which a kernel ran, as the driver tells it, for each device.`,
  },
  "gpu{index}_memory": {
    unit: "bytes",
    window: 0,
    label: t`Memory`,
    id: "gpu-memory",
    title: t`GPU memory`,
    hint: t`whole devices`,
    help: t`Memory in use on each device, whoever uses it.`,
  },
  "gpu{index}_temperature": { unit: "°C", window: 0, label: t`Temperature` },
  "gpu{index}_power": { unit: "W", window: 0, label: t`Power` },
} as const satisfies Record<string, MetricInfo>;

export type GpuMetric = keyof typeof GPU;

/** `gpu3_util`: the series of one device. */
export const gpuSeries = (name: GpuMetric, index: number): string => name.replace("{index}", String(index));
