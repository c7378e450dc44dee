/** What the form knows of a config.pbtxt: read from the text itself, so that the form can never disagree with it. */
import { messagesOf, parsePbtxt, PbtxtSyntaxError, scalarsOf, type FieldNode } from "./pbtxt-ast";

export const INSTANCE_KINDS = ["KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL"] as const;
export type InstanceKind = (typeof INSTANCE_KINDS)[number];

export interface ConfigFields {
  /** null: the text does not set it, the runtime completes it. */
  maxBatchSize: number | null;
  /** Groups written in the text. With more than one the form shows them read-only. */
  instanceGroups: number;
  instanceCount: number | null;
  instanceKind: InstanceKind;
  dynamicBatching: boolean;
  preferredBatchSizes: number[];
  maxQueueDelayMicroseconds: number | null;
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
]);

function integer(fields: FieldNode[], name: string): number | null {
  const last = scalarsOf(fields, name).at(-1);
  if (last === undefined) return null;
  const value = Number(last.text);
  return Number.isInteger(value) ? value : null;
}

function kindOf(text: string | undefined): InstanceKind {
  return INSTANCE_KINDS.find((kind) => kind === text) ?? "KIND_AUTO";
}

export function readConfig(text: string): ConfigReading {
  let document: FieldNode[];
  try {
    document = parsePbtxt(text);
  } catch (error) {
    if (!(error instanceof PbtxtSyntaxError)) throw error;
    return { fields: null, error: { message: error.message, line: error.line, column: error.column } };
  }
  const groups = messagesOf(document, "instance_group");
  const group = groups[0];
  const batching = messagesOf(document, "dynamic_batching").at(-1);
  return {
    error: null,
    fields: {
      maxBatchSize: integer(document, "max_batch_size"),
      instanceGroups: groups.length,
      instanceCount: group ? integer(group.fields, "count") : null,
      instanceKind: kindOf(group && scalarsOf(group.fields, "kind").at(-1)?.text),
      dynamicBatching: batching !== undefined,
      preferredBatchSizes: batching
        ? scalarsOf(batching.fields, "preferred_batch_size")
            .map((scalar) => Number(scalar.text))
            .filter(Number.isInteger)
        : [],
      maxQueueDelayMicroseconds: batching ? integer(batching.fields, "max_queue_delay_microseconds") : null,
      otherSettings: [...new Set(document.map((field) => field.name).filter((name) => !SHOWN.has(name)))],
    },
  };
}
