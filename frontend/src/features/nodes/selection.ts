/** Which nodes of the list are ticked; what is not shown, or gone, is not part of it. */
import type { NodeItem } from "@/api/types";

export const chosenOf = (ticked: ReadonlySet<string>, rows: readonly NodeItem[]): NodeItem[] => rows.filter((row) => ticked.has(row.name));

export function toggled(ticked: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(ticked);
  if (!next.delete(name)) next.add(name);
  return next;
}

/** All that are shown, or none where they are all ticked already. */
export const allToggled = (ticked: ReadonlySet<string>, rows: readonly NodeItem[]): Set<string> =>
  chosenOf(ticked, rows).length === rows.length ? new Set() : new Set(rows.map((row) => row.name));

export type Ticks = "none" | "some" | "all";

export function ticksOf(ticked: ReadonlySet<string>, rows: readonly NodeItem[]): Ticks {
  const count = chosenOf(ticked, rows).length;
  if (count === 0) return "none";
  return count === rows.length ? "all" : "some";
}

/** What may be done to them: cordoning what is cordoned does nothing, nor draining what is drained. */
export const offersOf = (chosen: readonly NodeItem[]) => ({
  cordon: chosen.filter((node) => !node.cordoned).map((node) => node.name),
  uncordon: chosen.filter((node) => node.cordoned).map((node) => node.name),
  drain: chosen.filter((node) => node.drain === null).map((node) => node.name),
});
