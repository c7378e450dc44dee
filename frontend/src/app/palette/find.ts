/** Finding in the palette: every word typed must occur; a label that begins with it comes first. */
import { refusalOf } from "@/api/permissions";
import type { Permission } from "@/api/types";
import type { Group, Item } from "./items";

export interface Found extends Item {
  /** Why it is off. */
  refusal?: string;
}
export interface FoundGroup {
  title: string;
  items: Found[];
}

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** 0 is the best place; null does not match. */
export function rank(item: Item, query: string): number | null {
  const needle = query.trim().toLowerCase();
  const label = item.label.toLowerCase();
  if (needle === "" || label === needle) return 0;
  const all = `${label} ${item.detail ?? ""} ${item.words ?? ""}`.toLowerCase();
  if (!wordsOf(needle).every((word) => all.includes(word))) return null;
  if (label.startsWith(needle)) return 1;
  return label.includes(needle) ? 2 : 3;
}

/**
 * All that there is for `query`. What the role refuses is left out until somebody asks for it by name:
 * then it stands there off, with the reason, rather than as if it did not exist.
 */
export function find(groups: readonly Group[], query: string, held: readonly Permission[] | undefined): FoundGroup[] {
  const asked = query.trim() !== "";
  return groups.flatMap(({ title, items }): FoundGroup[] => {
    const found = items
      .map((item): { item: Found; place: number | null } => {
        const refusal = item.needs ? refusalOf(held, item.needs) : undefined;
        return { item: refusal === undefined ? item : { ...item, refusal }, place: rank(item, query) };
      })
      .filter(({ item, place }) => place !== null && (asked || item.refusal === undefined))
      .sort((a, b) => Number(a.item.refusal !== undefined) - Number(b.item.refusal !== undefined) || (a.place ?? 0) - (b.place ?? 0))
      .map(({ item }) => item);
    return found.length > 0 ? [{ title, items: found }] : [];
  });
}

/** The first `limit` items, over all groups. */
export function firstOf(groups: readonly FoundGroup[], limit: number): FoundGroup[] {
  let left = limit;
  return groups.flatMap(({ title, items }): FoundGroup[] => {
    const shown = items.slice(0, left);
    left -= shown.length;
    return shown.length > 0 ? [{ title, items: shown }] : [];
  });
}

export const countOf = (groups: readonly FoundGroup[]): number => groups.reduce((sum, { items }) => sum + items.length, 0);

/** The best place of a group, so that the group with the nearest label stands first. */
export const bestFirst = (groups: readonly Group[], query: string): Group[] => {
  // why no Math.min of all: a call takes no more than some ten thousand arguments.
  const place = ({ items }: Group) =>
    items.reduce((best, item) => Math.min(best, rank(item, query) ?? Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY);
  return groups
    .map((group, index) => ({ group, index, place: place(group) }))
    .sort((a, b) => a.place - b.place || a.index - b.index)
    .map(({ group }) => group);
};
