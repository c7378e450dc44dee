/** What one call of the history holds. */
import type { CallOptions } from "../request/options";
import type { InputDraft } from "../request/input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";
import type { InferCall, Outcome, Parameters, StreamPart } from "@/inference/socket/messages";
import { wireData } from "@/inference/tensor/raw-bytes";

export interface CallRecord {
  id: number;
  at: string;
  deployment: string | null;
  model: string;
  options: CallOptions;
  batchSize: number;
  drafts: InputDraft[];
  /** The tensors as they were sent: a form that was changed since does not change them. */
  sent: readonly BuiltInput[];
  parameters: Parameters;
  outcome: Outcome | null;
  /** Responses of a stream, as far as they came. */
  parts: readonly StreamPart[];
  /** The first call of a connection also warms caches. */
  first: boolean;
}

/** What the answer, the time and the number are not yet known of. */
export type CallContent = Omit<CallRecord, "id" | "at" | "outcome" | "parts" | "first">;

/** The message of a call, the same one however often it is sent. */
export function callOf({ model, deployment, options, parameters, sent }: CallContent): InferCall {
  return {
    model,
    protocol: options.protocol,
    parameters,
    inputs: sent.map(({ name, datatype, shape, elements }) => ({ name, datatype, shape, data: wireData(datatype, elements) })),
    ...(deployment ? { deployment } : {}),
    ...(options.version ? { version: options.version } : {}),
  };
}

/** What a call of the history holds, without its answer: to be sent once more. */
export const contentOf = ({ deployment, model, options, batchSize, drafts, sent, parameters }: CallRecord): CallContent => ({
  deployment,
  model,
  options,
  batchSize,
  drafts,
  sent,
  parameters,
});

export const HISTORY_LIMIT = 50;

export function remember(history: readonly CallRecord[], record: CallRecord): CallRecord[] {
  const known = history.some((other) => other.id === record.id);
  if (known) return history.map((other) => (other.id === record.id ? record : other));
  return [record, ...history].slice(0, HISTORY_LIMIT);
}
