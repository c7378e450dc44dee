/** Which operations ended between two looks. */
import type { Operation } from "@/api/types";

type Seen = ReadonlyMap<string, Operation["state"]>;

const hasEnded = (state: Operation["state"]): boolean => state === "Succeeded" || state === "Failed" || state === "Canceled";

export const statesOf = (operations: readonly Operation[]): Seen => new Map(operations.map((item) => [item.id, item.state]));

/** Only what was seen running before: the first look tells nothing, nor does what came and went between two looks. */
export function endedSince(before: Seen, operations: readonly Operation[]): Operation[] {
  return operations.filter((item) => {
    const old = before.get(item.id);
    return old !== undefined && !hasEnded(old) && hasEnded(item.state);
  });
}
