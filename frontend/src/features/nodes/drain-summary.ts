/** A drain in one sentence, before it is begun. */
import { plural, t } from "@lingui/core/macro";
import type { DrainMove } from "@/api/types";

export interface DrainSummary {
  sentence: string;
  /** Replicas that have nowhere to go. */
  stuck: DrainMove[];
}

export function drainSummary(names: readonly string[], moves: readonly DrainMove[]): DrainSummary {
  const stuck = moves.filter((move) => move.to === null);
  if (moves.length === 0) {
    const nodes = names.join(", ");
    const sentence =
      names.length === 1
        ? t`Nothing runs on ${nodes}: it only stops taking anything new.`
        : t`Nothing runs on ${nodes}: they only stop taking anything new.`;
    return { sentence, stuck };
  }
  const targets = [...new Set(moves.flatMap((move) => (move.to === null ? [] : [move.to])))].sort();
  const where = targets.join(", ");
  const moving = moves.length - stuck.length;
  const parts = [];
  if (moving > 0)
    parts.push(
      plural(moving, {
        one: `# replica will answer on ${where} before it goes here`,
        other: `# replicas will answer on ${where} before they go here`,
      }),
    );
  if (stuck.length > 0) parts.push(plural(stuck.length, { one: "# replica has nowhere to go", other: "# replicas have nowhere to go" }));
  const waiting = moves.filter((move) => move.waits_for !== "").length;
  if (waiting > 0)
    parts.push(plural(waiting, { one: "# waits for an operation to end first", other: "# wait for an operation to end first" }));
  return { sentence: `${parts.join("; ")}.`, stuck };
}
