/** What one call of the history holds. */
import type { CallOptions } from "../request/options";
import type { BuiltInput, InputDraft } from "../request/input-draft";
import type { Outcome, StreamPart } from "../socket/console-socket";

export interface CallRecord {
  id: number;
  at: string;
  deployment: string | null;
  model: string;
  options: CallOptions;
  batchSize: number;
  drafts: InputDraft[];
  /** Shape, type and bytes of what was sent. */
  sent: Pick<BuiltInput, "name" | "datatype" | "shape" | "bytes">[];
  outcome: Outcome | null;
  /** Responses of a stream, as far as they came. */
  parts: readonly StreamPart[];
  /** The first call of a connection also warms caches. */
  first: boolean;
}

export const HISTORY_LIMIT = 50;

export function remember(history: readonly CallRecord[], record: CallRecord): CallRecord[] {
  const known = history.some((other) => other.id === record.id);
  if (known) return history.map((other) => (other.id === record.id ? record : other));
  return [record, ...history].slice(0, HISTORY_LIMIT);
}
