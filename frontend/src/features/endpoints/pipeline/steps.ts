/** What stands on each step of a pipeline: figures of its model, and marks in words. Pure. */
import { t } from "@lingui/core/macro";
import type { ModelCalls, Pipeline, StepFigures } from "@/api/types";
import { duration, MISSING, percent, significant } from "@/components/format";
import { callKey } from "@/components/pipeline/call-layout";
import type { PipelineGraph, StepText } from "@/components/pipeline/graph";
import { metricText } from "@/metrics/registry";

export interface Mark {
  tone: "warn" | "error";
  /** Short, for the drawing. */
  text: string;
}

export function marksOf(figures: StepFigures): Mark[] {
  const marks: Mark[] = [];
  if (figures.faulty) marks.push({ tone: "error", text: figures.faulty === "rising" ? t`Failing, more and more` : t`Failing` });
  if (figures.slow) marks.push({ tone: "warn", text: figures.slow === "queue" ? t`Slow: it waits` : t`Slow: it computes` });
  return marks;
}

export const perSecond = (value: number | null | undefined): string => metricText("request_rate", value ?? null);
/** An ensemble makes no batches. */
export const batch = (figures: StepFigures): string => (figures.executes ? metricText("mean_batch", figures.mean_batch) : MISSING);

export function stepText(figures: StepFigures | undefined): StepText {
  if (!figures) return { lines: [t`not loaded`, "", ""], marks: [] };
  const waits = figures.pending ? t`${figures.pending} waiting` : t`none waits`;
  const share = figures.share === null ? "" : t`, ${percent(figures.share)} of the time`;
  return {
    lines: [
      t`${perSecond(figures.request_rate)}, batch ${batch(figures)}`,
      t`queue ${duration(figures.queue_us)}, compute ${duration(figures.compute_us)}`,
      `${waits}${share}`,
    ],
    marks: marksOf(figures),
  };
}

/** By the key of each step's node; steps of the same model have the same figures, since runtimes count by model. */
export function stepTexts(graph: PipelineGraph, pipeline: Pipeline): Map<string, StepText> {
  const byName = new Map(pipeline.models.map((one) => [one.name, one]));
  return new Map(graph.nodes.filter((node) => node.kind === "step").map((node) => [node.key, stepText(byName.get(node.title))]));
}

/** How many calls a request leads to. */
export const each = (value: number): string => (value < 0.01 ? "< 0.01" : significant(value));

export const failingCalls = (calls: ModelCalls): Mark[] => (calls.failure_rate > 0 ? [{ tone: "error", text: t`Failing` }] : []);

/** By caller and callee, for the edges between them. */
export function callTexts(graph: PipelineGraph, pipeline: Pipeline): Map<string, StepText> {
  // why steps alone: a model may be called "inputs", too
  const steps = graph.nodes.filter((node) => node.kind === "step");
  const keys = new Map(steps.toReversed().map((node) => [node.title, node.key]));
  return new Map(
    pipeline.calls.map((calls) => [
      callKey(keys.get(calls.caller) ?? "", keys.get(calls.callee) ?? ""),
      {
        lines:
          calls.per_request === null ? [perSecond(calls.call_rate)] : [t`${each(calls.per_request)} a request`, duration(calls.mean_us)],
        marks: failingCalls(calls),
      },
    ]),
  );
}

/** One sentence of what is marked, spoken when it changes; null while nothing is measured. */
export function summary(pipeline: Pipeline): string | null {
  if (pipeline.models.length === 0) return null;
  if (!pipeline.models.some((one) => (one.request_rate ?? 0) > 0 || one.failure_rate > 0)) {
    return t`No requests in the last ${pipeline.seconds} s.`;
  }
  const said = pipeline.models.flatMap((one) => {
    const found: string[] = [];
    if (one.faulty) found.push(one.faulty === "rising" ? t`${one.name} fails, more and more.` : t`${one.name} fails.`);
    if (one.slow)
      found.push(
        one.slow === "queue"
          ? t`${one.name} takes most of the time: its requests wait.`
          : t`${one.name} takes most of the time: its requests are computed.`,
      );
    return found;
  });
  return said.length > 0 ? said.join(" ") : t`No step stands out.`;
}

/** What a drawing can begin with: ensembles, and models that call others. */
export const heads = (ensembles: readonly string[], pipeline: Pipeline | undefined): string[] => [
  ...new Set([...ensembles, ...(pipeline?.calls.map((one) => one.caller) ?? [])]),
];

/** The one to begin with: one that no other calls. */
export function firstHead(names: readonly string[], pipeline: Pipeline | undefined): string | undefined {
  const called = new Set([
    ...(pipeline?.models.filter((one) => one.step).map((one) => one.name) ?? []),
    ...(pipeline?.calls.filter((one) => one.caller !== one.callee).map((one) => one.callee) ?? []),
  ]);
  return names.find((name) => !called.has(name)) ?? names[0];
}

/** The deployment that gets most traffic. */
export const busiest = (names: readonly string[], traffic: Readonly<Record<string, number>>): string =>
  names.reduce((best, name) => ((traffic[name] ?? 0) > (traffic[best] ?? 0) ? name : best), names[0] ?? "");
