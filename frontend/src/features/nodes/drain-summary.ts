/** A drain in one sentence, before it is begun. */
import { t } from "@lingui/core/macro";
import type { DrainMove } from "@/api/types";

export interface DrainSummary {
  sentence: string;
  /** Replicas that have nowhere to go. */
  stuck: DrainMove[];
}

const replicas = (count: number) => (count === 1 ? t`1 replica` : t`${count} replicas`);

export function drainSummary(names: readonly string[], moves: readonly DrainMove[]): DrainSummary {
  const stuck = moves.filter((move) => move.to === null);
  if (moves.length === 0) {
    const only = names.length === 1 ? t`it only stops` : t`they only stop`;
    return { sentence: t`Nothing runs on ${names.join(", ")}: ${only} taking anything new.`, stuck };
  }
  const targets = [...new Set(moves.flatMap((move) => (move.to === null ? [] : [move.to])))].sort();
  const moving = moves.length - stuck.length;
  const parts = [];
  if (moving > 0)
    parts.push(t`${replicas(moving)} will answer on ${targets.join(", ")} before ${moving === 1 ? t`it goes` : t`they go`} here`);
  if (stuck.length > 0) parts.push(t`${replicas(stuck.length)} ${stuck.length === 1 ? "has" : "have"} nowhere to go`);
  const waiting = moves.filter((move) => move.waits_for !== "").length;
  if (waiting > 0) parts.push(t`${waiting} ${waiting === 1 ? "waits" : "wait"} for an operation to end first`);
  return { sentence: `${parts.join("; ")}.`, stuck };
}
