/** What an event changed, read from its data: `{before, after}`, or a value beside its `before`. */

export interface Change {
  /** Dotted: `traffic.green`. */
  path: string;
  /** Undefined: it was not there. */
  before: unknown;
  /** Undefined: it is gone. */
  after: unknown;
}

export interface EventReading {
  changes: Change[];
  /** What else the event says, as it is. */
  facts: [name: string, value: unknown][];
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Whose value changed, or by what. */
const BESIDE = new Set(["alias", "deployment", "operation"]);
const kindOf = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value);

/** Where two values differ, at the deepest names. */
export function differences(before: unknown, after: unknown, path = ""): Change[] {
  if (isRecord(before) && isRecord(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => differences(before[name], after[name], path ? `${path}.${name}` : name));
  }
  return same(before, after) ? [] : [{ path, before, after }];
}

export function readEvent(data: Record<string, unknown>): EventReading {
  const { before, after, ...rest } = data;
  if (before === undefined && after === undefined) return { changes: [], facts: Object.entries(rest) };
  if (after !== undefined || Object.keys(rest).length === 0) {
    return { changes: differences(before ?? {}, after ?? {}), facts: Object.entries(rest) };
  }
  // One value beside its `before`: the one that looks like it, and is not what an event names beside it.
  const entries = Object.entries(rest);
  const index = entries.findIndex(([name, value]) => !BESIDE.has(name) && (before === null || kindOf(value) === kindOf(before)));
  const [name, now] = entries[index] ?? [undefined, undefined];
  if (name === undefined) return { changes: differences(before, undefined), facts: entries };
  const found = differences(before, now, name);
  return { changes: found, facts: entries.filter((_, other) => other !== index) };
}

/** A value in one line. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}
