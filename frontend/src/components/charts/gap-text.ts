/** The reasons of the gaps at one point in one line. Pure. */

export interface LineGap {
  label: string;
  /** Null where the line has a value; empty where nobody knows why it has none. */
  reason: string | null;
}

/** One reason once where all lines have it, else each with the names of its lines. */
export function gapText(lines: readonly LineGap[]): string {
  const names = new Map<string, string[]>();
  for (const { label, reason } of lines) if (reason) names.set(reason, [...(names.get(reason) ?? []), label]);
  return [...names].map(([reason, of]) => (of.length === lines.length ? reason : `${of.join(", ")}: ${reason}`)).join("; ");
}
