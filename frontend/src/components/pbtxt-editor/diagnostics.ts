/** The checks' problems as marks in the text. Lines and columns count from 1. */
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";

export interface TextProblem {
  severity: "error" | "warning" | "info";
  line: number | null;
  column: number | null;
  message: string;
}

/** From the named column to the end of what is written on that line; a problem without a place marks nothing. */
export function toDiagnostics(document: Text, problems: readonly TextProblem[]): Diagnostic[] {
  return problems.flatMap((problem) => {
    if (problem.line === null) return [];
    const line = document.line(Math.min(Math.max(1, problem.line), document.lines));
    const written = (line.text.split("#", 1)[0] ?? "").trimEnd();
    const indent = line.text.length - line.text.trimStart().length;
    const start = Math.min(line.from + Math.max(problem.column === null ? indent : problem.column - 1, 0), line.to);
    const end = Math.max(start, line.from + written.length);
    return [{ from: start, to: end, severity: problem.severity, message: problem.message }];
  });
}
