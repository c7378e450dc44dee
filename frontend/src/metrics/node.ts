/** What a machine says of itself, whoever uses it. Names are the server's; a GPU's number stands for `{index}`. */
import type { MetricInfo } from "./metric";

export const HOST = {
  host_cpu: {
    unit: "percent",
    window: 0,
    id: "host-cpu",
    title: "Host processor",
    hint: "the whole machine",
    help: "Processor time in use on the machine, whoever uses it.",
  },
  host_memory: {
    unit: "bytes",
    window: 0,
    id: "host-memory",
    title: "Host memory",
    hint: "in use on the whole machine",
    help: "Total minus available memory of the machine.",
  },
  disk_used: {
    unit: "bytes",
    window: 0,
    id: "disk",
    title: "Disk",
    hint: "in use",
    help: "Bytes in use on the disk that holds the node's files.",
  },
} as const satisfies Record<string, MetricInfo>;

export const GPU = {
  "gpu{index}_util": {
    unit: "percent",
    window: 0,
    label: "Busy",
    id: "gpu",
    title: "GPU utilisation",
    hint: "whole devices",
    help: "Share of time in which a kernel ran, as the driver tells it, for each device.",
  },
  "gpu{index}_memory": {
    unit: "bytes",
    window: 0,
    label: "Memory",
    id: "gpu-memory",
    title: "GPU memory",
    hint: "whole devices",
    help: "Memory in use on each device, whoever uses it.",
  },
  "gpu{index}_temperature": { unit: "°C", window: 0, label: "Temperature" },
  "gpu{index}_power": { unit: "W", window: 0, label: "Power" },
} as const satisfies Record<string, MetricInfo>;

export type GpuMetric = keyof typeof GPU;

/** `gpu3_util`: the series of one device. */
export const gpuSeries = (name: GpuMetric, index: number): string => name.replace("{index}", String(index));
