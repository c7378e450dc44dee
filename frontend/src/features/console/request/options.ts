/** What a call is told beside its tensors. Pure. */
import { t } from "@lingui/core/macro";
import type { ConsoleModel } from "@/api/types";
import type { InferCall, Parameters } from "@/inference/socket/messages";

export interface SequenceOptions {
  id: string;
  start: boolean;
  end: boolean;
}

export interface CallOptions {
  protocol: InferCall["protocol"];
  /** "" lets the server choose. */
  version: string;
  sequence: SequenceOptions;
}

export const newOptions = (): CallOptions => ({
  protocol: "http",
  version: "",
  sequence: { id: "1", start: true, end: false },
});

/** Why the options cannot be sent, or null. */
export function optionsProblem(options: CallOptions, model: Pick<ConsoleModel, "sequence">): string | null {
  if (!model.sequence) return null;
  const { id } = options.sequence;
  if (id.trim() === "") return t`Give the sequence an id.`;
  if (model.sequence === "number" && !/^\d{1,18}$/.test(id.trim())) return t`The sequence id must be a whole number, 1 or more.`;
  return model.sequence === "number" && Number(id) === 0 ? t`The sequence id must be a whole number, 1 or more.` : null;
}

export function parametersOf(options: CallOptions, model: Pick<ConsoleModel, "sequence">): Parameters {
  if (!model.sequence) return {};
  const { id, start, end } = options.sequence;
  return {
    sequence_id: model.sequence === "number" && Number.isSafeInteger(Number(id)) ? Number(id) : id,
    sequence_start: start,
    sequence_end: end,
  };
}

/** After a call of a sequence: it goes on, and after its end the next one begins. */
export function afterCall(options: CallOptions): CallOptions {
  const { id, end } = options.sequence;
  const next = /^\d+$/.test(id) ? String(BigInt(id) + 1n) : id;
  return { ...options, sequence: end ? { id: next, start: true, end: false } : { id, start: false, end: false } };
}

/** From a saved case. */
export function optionsOf(saved: { protocol?: string; version?: string; parameters?: Record<string, unknown> }): CallOptions {
  const { parameters = {} } = saved;
  const fresh = newOptions();
  return {
    protocol: saved.protocol === "grpc" ? "grpc" : "http",
    version: saved.version ?? "",
    sequence: {
      id: String(parameters["sequence_id"] ?? fresh.sequence.id),
      start: Boolean(parameters["sequence_start"] ?? fresh.sequence.start),
      end: Boolean(parameters["sequence_end"] ?? fresh.sequence.end),
    },
  };
}
