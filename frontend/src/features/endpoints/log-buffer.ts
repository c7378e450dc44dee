/** Log lines in memory: ordered by id, without doubles, at most 20,000. */
import type { LogLine } from "@/api/types";

export const MAX_LINES = 20_000;
/** Longer lines are cut in the view; copying gives the whole line. */
export const MAX_SHOWN = 2_000;

/** Adds lines that are newer than the last one held. Answers the same array when nothing is new. */
export function appendLines(held: LogLine[], fresh: readonly LogLine[], limit: number = MAX_LINES): LogLine[] {
  const last = held[held.length - 1]?.id ?? Number.NEGATIVE_INFINITY;
  const added = fresh.filter((line) => line.id > last).sort((a, b) => a.id - b.id);
  if (added.length === 0) return held;
  const all = [...held, ...added];
  return all.length > limit ? all.slice(all.length - limit) : all;
}

/** Adds lines that are older than the first one held, as far as there is room: the newest stay. */
export function prependLines(held: LogLine[], older: readonly LogLine[], limit: number = MAX_LINES): LogLine[] {
  const first = held[0]?.id ?? Number.POSITIVE_INFINITY;
  const added = older.filter((line) => line.id < first).sort((a, b) => a.id - b.id);
  if (added.length === 0) return held;
  const room = Math.max(0, limit - held.length);
  return room === 0 ? held : [...added.slice(-room), ...held];
}

export interface Expression {
  test: (line: LogLine) => boolean;
  error: string | null;
}

/** `/expr/` is a regular expression, of which only the browser knows; null for anything else, which the server looks for. */
export function expressionOf(text: string): Expression | null {
  const source = /^\/(.+)\/$/.exec(text)?.[1];
  if (!source) return null;
  try {
    const regex = new RegExp(source, "i");
    return { test: (line) => regex.test(line.text), error: null };
  } catch (problem) {
    return { test: () => true, error: problem instanceof Error ? problem.message : String(problem) };
  }
}
