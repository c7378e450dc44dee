/** The server's opinion of each config.pbtxt, asked a moment after typing stops. */
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { validateConfig } from "@/api/models";
import type { ConfigProblem } from "@/api/types";
import { readConfig, type ConfigReading } from "./config-fields";
import type { DeploySource, SourceModel } from "./source";

export interface Check {
  reading: ConfigReading;
  problems: ConfigProblem[];
  /** The text as the runtime would complete it; empty while it cannot be read. */
  effective: string;
  errors: number;
  /** The answer belongs to an earlier text. */
  checking: boolean;
  failure: unknown;
  retry: () => void;
}

/** What was changed in the other models: an ensemble is checked beside these, not beside what was uploaded. */
export function editedOthers(models: readonly SourceModel[], texts: readonly string[], index: number): Record<string, string> {
  if (models[index]?.platform !== "ensemble") return {};
  const others = models.map((model, at) => [model, texts[at]] as const).filter((_, at) => at !== index);
  return Object.fromEntries(
    others.flatMap(([model, text]) => (text === undefined || text === model.startText ? [] : [[model.name, text]])),
  );
}

const DEBOUNCE_MS = 200;
const RETRY_MS = 4_000;

function syntaxProblem(error: NonNullable<ConfigReading["error"]>): ConfigProblem {
  return {
    severity: "error",
    code: "Syntax",
    line: error.line,
    column: error.column,
    field: null,
    message: error.message,
    plain: "",
    hint: null,
    fix: null,
  };
}

export function useChecks(source: DeploySource, texts: readonly string[]): Check[] {
  const [settled] = useDebouncedValue(texts, DEBOUNCE_MS);
  const target = source.registered
    ? { model: source.registered.model, version: source.registered.version }
    : { upload_id: source.uploadId ?? "" };
  const answers = useQueries({
    queries: source.models.map((model, index) => ({
      queryKey: ["config-check", target, model.name, settled[index] ?? "", editedOthers(source.models, settled, index)],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        validateConfig(
          { text: settled[index] ?? "", repo_model: model.name, others: editedOthers(source.models, settled, index), ...target },
          signal,
        ),
      // Asked again by itself: one that failed may be of a model that is not shown now.
      refetchInterval: ({ state }: { state: { status: string } }) => (state.status === "error" ? RETRY_MS : false),
      placeholderData: keepPreviousData,
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  const readings = useMemo(() => texts.map(readConfig), [texts]);
  return source.models.map((_, index) => {
    const answer = answers[index];
    const reading = readings[index] ?? { fields: null, error: null };
    const checking = texts[index] !== settled[index] || (answer?.isFetching ?? true);
    const local = checking && reading.error ? [syntaxProblem(reading.error)] : null;
    const problems = local ?? answer?.data?.problems ?? [];
    return {
      reading,
      problems,
      effective: answer?.data?.effective ?? "",
      errors: problems.filter((problem) => problem.severity === "error").length,
      checking,
      failure: answer?.error ?? null,
      retry: () => void answer?.refetch(),
    };
  });
}
