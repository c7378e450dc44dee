/** Log lines in memory: ordered by id, without doubles, at most 20,000. */
import type { LogLine } from "@/api/types";
import { type Level, levelOf } from "@/components/log-level";

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

export interface LogFilter {
  text: string;
  /** Only lines of this level or worse. */
  level?: Level | undefined;
  stream: string | undefined;
  replica: string | undefined;
}

function isLevel(text: string, wanted: Level | undefined): boolean {
  if (!wanted) return true;
  const level = levelOf(text);
  return level === "error" || (level === "warn" && wanted === "warn");
}

/** `/expr/` is a regular expression; anything else is looked for as it is, without regard to case. */
export function lineMatcher(filter: LogFilter): { test: (line: LogLine) => boolean; error: string | null } {
  const { text, stream, replica, level } = filter;
  let hit: (value: string) => boolean = () => true;
  let error: string | null = null;
  const expression = /^\/(.+)\/$/.exec(text);
  if (expression?.[1]) {
    try {
      const regex = new RegExp(expression[1], "i");
      hit = (value) => regex.test(value);
    } catch (problem) {
      error = problem instanceof Error ? problem.message : String(problem);
    }
  } else if (text) {
    const needle = text.toLowerCase();
    hit = (value) => value.toLowerCase().includes(needle);
  }
  return {
    error,
    test: (line) =>
      isLevel(line.text, level) && (!stream || line.stream === stream) && (!replica || line.replica_id === replica) && hit(line.text),
  };
}
