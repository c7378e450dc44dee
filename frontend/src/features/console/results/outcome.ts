/** What one call of the history holds. */
import type { Outcome, InferCall } from "../socket/console-socket";
import type { BuiltInput, InputDraft } from "../request/input-draft";

export interface CallRecord {
  id: number;
  at: string;
  deployment: string | null;
  model: string;
  protocol: InferCall["protocol"];
  batchSize: number;
  drafts: InputDraft[];
  /** Shape, type and bytes of what was sent. */
  sent: Pick<BuiltInput, "name" | "datatype" | "shape" | "bytes">[];
  outcome: Outcome | null;
  /** The first call of a connection also warms caches. */
  first: boolean;
}

export const HISTORY_LIMIT = 50;

export function remember(history: readonly CallRecord[], record: CallRecord): CallRecord[] {
  return [record, ...history.filter((other) => other.id !== record.id)].slice(0, HISTORY_LIMIT);
}
