/** What the form knows of a config.pbtxt: read from the text itself, so that the form can never disagree with it. */
import { messagesOf, parsePbtxt, PbtxtSyntaxError, scalarsOf, type FieldNode, type MessageNode } from "./pbtxt-ast";
import { unquoted } from "./pbtxt-edit";

const INSTANCE_KINDS = ["KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL"] as const;
export type InstanceKind = (typeof INSTANCE_KINDS)[number];

export interface FieldTensor {
  name: string;
  /** Without `TYPE_`; empty where it is not written. */
  datatype: string;
  dims: number[];
  optional: boolean;
}

interface EnsembleStep {
  model: string;
  /** null: not written, which means the newest. */
  version: number | null;
  inputs: [string, string][];
  outputs: [string, string][];
}

type VersionPolicy = { kind: "latest"; count: number } | { kind: "all" } | { kind: "specific"; versions: number[] };

export interface ConfigFields {
  backend: string | null;
  /** null: the text does not set it, the runtime completes it. */
  maxBatchSize: number | null;
  inputs: FieldTensor[];
  outputs: FieldTensor[];
  /** Groups written in the text. With more than one the form shows them read-only. */
  instanceGroups: number;
  instanceCount: number | null;
  instanceKind: InstanceKind;
  gpus: number[];
  dynamicBatching: boolean;
  preferredBatchSizes: number[];
  maxQueueDelayMicroseconds: number | null;
  preserveOrdering: boolean;
  /** How long a request waits at most, and how many may wait. */
  queue: { timeoutMicroseconds: number | null; size: number | null } | null;
  responseCache: boolean;
  versionPolicy: VersionPolicy | null;
  graphLevel: number | null;
  accelerators: string[];
  warmups: { name: string; batchSize: number; inputs: number }[];
  sequence: { strategy: "direct" | "oldest"; maxIdleMicroseconds: number | null } | null;
  ensemble: EnsembleStep[] | null;
  parameters: { key: string; value: string }[];
  /** Top-level fields that the form does not show; they stay as written. */
  otherSettings: string[];
}

export interface ConfigReading {
  fields: ConfigFields | null;
  error: { message: string; line: number; column: number } | null;
}

const SHOWN = new Set([
  "name",
  "backend",
  "platform",
  "max_batch_size",
  "input",
  "output",
  "instance_group",
  "dynamic_batching",
  "default_model_filename",
  "response_cache",
  "version_policy",
  "optimization",
  "model_warmup",
  "sequence_batching",
  "ensemble_scheduling",
  "parameters",
]);

const lastText = (fields: FieldNode[], name: string): string | null => {
  const scalar = scalarsOf(fields, name).at(-1);
  return scalar ? unquoted(scalar.text) : null;
};

function integer(fields: FieldNode[], name: string): number | null {
  const text = lastText(fields, name);
  const value = text === null ? Number.NaN : Number(text);
  return Number.isInteger(value) ? value : null;
}

const integers = (fields: FieldNode[], name: string): number[] =>
  scalarsOf(fields, name)
    .map((scalar) => Number(scalar.text))
    .filter(Number.isInteger);

const isTrue = (fields: FieldNode[], name: string): boolean => /^(true|True|t|1)$/.test(lastText(fields, name) ?? "");

/** The fields of a singular message, empty where it is not written. */
const inside = (fields: FieldNode[], ...names: string[]): FieldNode[] =>
  names.reduce((now, name) => messagesOf(now, name).at(-1)?.fields ?? [], fields);

const kindOf = (text: string | null): InstanceKind => INSTANCE_KINDS.find((kind) => kind === text) ?? "KIND_AUTO";

const tensor = ({ fields }: MessageNode): FieldTensor => ({
  name: lastText(fields, "name") ?? "",
  datatype: (lastText(fields, "data_type") ?? "").replace(/^TYPE_/, ""),
  dims: integers(fields, "dims"),
  optional: isTrue(fields, "optional"),
});

const pairs = (fields: FieldNode[], name: string): [string, string][] =>
  messagesOf(fields, name).map((entry) => [lastText(entry.fields, "key") ?? "", lastText(entry.fields, "value") ?? ""]);

function policyOf(fields: FieldNode[]): VersionPolicy | null {
  const policy = messagesOf(fields, "version_policy").at(-1);
  if (!policy) return null;
  const specific = messagesOf(policy.fields, "specific").at(-1);
  if (specific) return { kind: "specific", versions: integers(specific.fields, "versions") };
  if (messagesOf(policy.fields, "all").length > 0) return { kind: "all" };
  return { kind: "latest", count: integer(inside(policy.fields, "latest"), "num_versions") ?? 1 };
}

function queueOf(policy: FieldNode[]): ConfigFields["queue"] {
  const timeoutMicroseconds = integer(policy, "default_timeout_microseconds");
  const size = integer(policy, "max_queue_size");
  return timeoutMicroseconds === null && size === null ? null : { timeoutMicroseconds, size };
}

function sequenceOf(fields: FieldNode[]): ConfigFields["sequence"] {
  const sequence = messagesOf(fields, "sequence_batching").at(-1);
  if (!sequence) return null;
  return {
    strategy: messagesOf(sequence.fields, "oldest").length > 0 ? "oldest" : "direct",
    maxIdleMicroseconds: integer(sequence.fields, "max_sequence_idle_microseconds"),
  };
}

function ensembleOf(fields: FieldNode[]): EnsembleStep[] | null {
  const schedule = messagesOf(fields, "ensemble_scheduling").at(-1);
  if (!schedule) return null;
  return messagesOf(schedule.fields, "step").map((step) => ({
    model: lastText(step.fields, "model_name") ?? "",
    version: integer(step.fields, "model_version"),
    inputs: pairs(step.fields, "input_map"),
    outputs: pairs(step.fields, "output_map"),
  }));
}

function acceleratorsOf(fields: FieldNode[]): string[] {
  const found = inside(fields, "optimization", "execution_accelerators");
  return ["gpu_execution_accelerator", "cpu_execution_accelerator"].flatMap((place) =>
    messagesOf(found, place).map((one) => lastText(one.fields, "name") ?? ""),
  );
}

function fieldsOf(document: FieldNode[]): ConfigFields {
  const groups = messagesOf(document, "instance_group");
  const group = groups[0]?.fields ?? [];
  const batching = messagesOf(document, "dynamic_batching").at(-1)?.fields;
  return {
    backend: lastText(document, "backend"),
    maxBatchSize: integer(document, "max_batch_size"),
    inputs: messagesOf(document, "input").map(tensor),
    outputs: messagesOf(document, "output").map(tensor),
    instanceGroups: groups.length,
    instanceCount: integer(group, "count"),
    instanceKind: kindOf(lastText(group, "kind")),
    gpus: integers(group, "gpus"),
    dynamicBatching: batching !== undefined,
    preferredBatchSizes: integers(batching ?? [], "preferred_batch_size"),
    maxQueueDelayMicroseconds: integer(batching ?? [], "max_queue_delay_microseconds"),
    preserveOrdering: isTrue(batching ?? [], "preserve_ordering"),
    queue: queueOf(inside(batching ?? [], "default_queue_policy")),
    responseCache: isTrue(inside(document, "response_cache"), "enable"),
    versionPolicy: policyOf(document),
    graphLevel: integer(inside(document, "optimization", "graph"), "level"),
    accelerators: acceleratorsOf(document),
    warmups: messagesOf(document, "model_warmup").map(({ fields }) => ({
      name: lastText(fields, "name") ?? "",
      batchSize: integer(fields, "batch_size") ?? 0,
      inputs: messagesOf(fields, "inputs").length,
    })),
    sequence: sequenceOf(document),
    ensemble: ensembleOf(document),
    parameters: messagesOf(document, "parameters").map(({ fields }) => ({
      key: lastText(fields, "key") ?? "",
      value: lastText(inside(fields, "value"), "string_value") ?? "",
    })),
    otherSettings: [...new Set(document.map((field) => field.name).filter((name) => !SHOWN.has(name)))],
  };
}

/** What the form shows where nothing can be read. */
export const NO_FIELDS: ConfigFields = fieldsOf([]);

export function readConfig(text: string): ConfigReading {
  try {
    return { error: null, fields: fieldsOf(parsePbtxt(text)) };
  } catch (error) {
    if (!(error instanceof PbtxtSyntaxError)) throw error;
    return { fields: null, error: { message: error.message, line: error.line, column: error.column } };
  }
}
