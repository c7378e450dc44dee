/** What every section of the form needs: the values, where they come from, and how to change the text. */
import type { ConfigProblem } from "@/api/types";
import type { ConfigFields } from "../config/config-fields";
import type { Origin, SourceModel } from "../config/source";

export interface FormContext {
  model: SourceModel;
  text: string;
  fields: ConfigFields;
  /** The same fields of the text as it started. */
  start: ConfigFields;
  /** The same fields of the uploaded file, where `start` is a revision of it. */
  file?: ConfigFields | undefined;
  problems: readonly ConfigProblem[];
  disabled: boolean;
  /** All models of the repository: what an ensemble's steps may be. */
  repository: readonly SourceModel[];
  onChange: (text: string) => void;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** `key` as the form knows it, `source` as the inspection calls it. */
export function originOf(
  { fields, start, file, model }: FormContext,
  key: keyof ConfigFields,
  source: string,
): Origin | "you" | "revision" {
  if (!same(fields[key], start[key])) return "you";
  if (file && !same(start[key], file[key])) return "revision";
  const empty = [null, false, "KIND_AUTO"].includes(start[key] as never) || same(start[key], []);
  return model.provenance[source] ?? (empty || !model.written ? "default" : "config");
}

/** The sentence of the first error about a field whose path contains `part`. */
export function errorAbout({ problems }: FormContext, part: string): string | undefined {
  const found = problems.find((problem) => problem.severity === "error" && problem.field?.includes(part));
  return found && (found.plain || found.message);
}
