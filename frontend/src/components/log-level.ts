/** How bad a line of a log is, told by how the runtime, Python and most libraries write it. */
export type Level = "error" | "warn";

/** Null for all that is neither. */
export function levelOf(text: string): Level | null {
  if (/^(\[)?(E|ERROR|F|FATAL|CRITICAL)\b/.test(text) || /\b(ERROR|CRITICAL|FATAL)\b/.test(text) || /^E\d{4} /.test(text)) return "error";
  if (/^(\[)?(W|WARN|WARNING)\b/.test(text) || /\bWARN(ING)?\b/.test(text) || /^W\d{4} /.test(text)) return "warn";
  return null;
}
