/** The fields of an instance type as a form holds them: texts, GiB, names in one line. */
import type { InstanceType, InstanceTypeInput } from "@/api/types";
import { labelsOf, labelText } from "@/components/labels";

const GIB = 2 ** 30;

export interface TypeFields {
  name: string;
  description: string;
  aliases: string;
  gpuCount: number;
  gpuPolicy: "preferred" | "required";
  gpuModel: string;
  gpuGib: number;
  cpuCount: number;
  memoryGib: number;
  labels: string;
}

export const EMPTY_TYPE: TypeFields = {
  name: "",
  description: "",
  aliases: "",
  gpuCount: 0,
  gpuPolicy: "preferred",
  gpuModel: "",
  gpuGib: 0,
  cpuCount: 0,
  memoryGib: 0,
  labels: "",
};

export const fieldsOf = (type: InstanceType): TypeFields => ({
  name: type.name,
  description: type.description,
  aliases: type.aliases.join(", "),
  gpuCount: type.gpu_count,
  gpuPolicy: type.gpu_policy,
  gpuModel: type.gpu_model,
  gpuGib: type.gpu_memory_bytes / GIB,
  cpuCount: type.cpu_count,
  memoryGib: type.memory_bytes / GIB,
  labels: labelText(type.node_labels),
});

const parts = (text: string): string[] => text.split(",").flatMap((part) => (part.trim() ? [part.trim()] : []));

export function inputOf(fields: TypeFields): InstanceTypeInput {
  return {
    name: fields.name.trim(),
    description: fields.description,
    aliases: parts(fields.aliases),
    gpu_count: fields.gpuCount,
    gpu_policy: fields.gpuPolicy,
    gpu_model: fields.gpuModel.trim(),
    gpu_memory_bytes: Math.round(fields.gpuGib * GIB),
    cpu_count: fields.cpuCount,
    memory_bytes: Math.round(fields.memoryGib * GIB),
    node_labels: labelsOf(fields.labels),
  };
}
