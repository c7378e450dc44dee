/** What somebody asks of a rollout, as it is typed, and what a request says of it. Pure; a draft keeps it. */
import { t } from "@lingui/core/macro";

export type Way = "values" | "best_class";
export type Source = "cases" | "random" | "captured";

export interface PlanForm {
  /** As it is typed; null: the usual ones. */
  steps: string | null;
  minutes: number | string;
  requests: number | string;
  golden: boolean;
  /** A minute; 0: none. */
  inputs: number | string;
  way: Way;
  sources: Source[];
  blueGreen: boolean;
  /** Percent of the requests that are copied first; 0: none. */
  copies: number | string;
}

interface Step {
  percent: number;
  hold_s: number;
}

export interface PlanBody {
  steps: Step[];
  min_requests: number;
  strategy?: "blue_green";
  shadow?: Step;
  guardrails?: { golden: null };
  compare?: { per_minute: number; by: Way; sources: Source[] };
}

const STEPS = [1, 10, 50, 100];
/** Without copies a switch is looked at for so long first. */
const CHECK_S = 60;
export const ALL_SOURCES: readonly Source[] = ["cases", "random", "captured"];

export const PLAN: PlanForm = {
  steps: null,
  minutes: 5,
  requests: 200,
  golden: true,
  inputs: 0,
  way: "values",
  sources: [...ALL_SOURCES],
  blueGreen: false,
  copies: 0,
};

/** `share`: what the candidate has already. */
export const stepsText = ({ steps }: PlanForm, share: number): string => steps ?? STEPS.filter((step) => step > share).join(", ");

/** Steps as somebody types them, "1, 10, 100": each but the last holds so many seconds. */
export function readSteps(text: string, hold_s: number): { ok: true; steps: Step[] } | { ok: false; error: string } {
  const parts = text.split(/[\s,;%]+/).filter(Boolean);
  const percents = parts.map(Number);
  if (percents.length === 0 || percents.some((one) => !Number.isInteger(one) || one < 1 || one > 100))
    return { ok: false, error: t`whole numbers from 1 to 100, with commas between` };
  if (percents.some((one, index) => index > 0 && one <= (percents[index - 1] ?? 0)))
    return { ok: false, error: t`each more than the one before` };
  if (percents[percents.length - 1] !== 100) return { ok: false, error: t`the last must be 100` };
  return { ok: true, steps: percents.map((percent) => ({ percent, hold_s: percent === 100 ? 0 : Math.round(hold_s) })) };
}

export const comparesInputs = ({ inputs }: PlanForm): boolean => typeof inputs === "number" && inputs > 0;

/** Percent that it gets at once; null: none of it, or nobody can tell. */
export function firstShare(plan: PlanForm, share: number): number | null {
  if (plan.blueGreen || plan.copies) return null;
  const read = readSteps(stepsText(plan, share), 0);
  return read.ok ? (read.steps[0]?.percent ?? null) : null;
}

/** What a request says of it, nothing where it is the default; null: something is missing or wrong. */
export function planBody(plan: PlanForm, share: number): PlanBody | null {
  const hold_s = Math.round(Number(plan.minutes) * 60);
  const switched = [
    { percent: 0, hold_s: CHECK_S },
    { percent: 100, hold_s },
  ];
  const read = plan.blueGreen ? { ok: true as const, steps: switched } : readSteps(stepsText(plan, share), hold_s);
  const { inputs, copies, requests } = plan;
  if (!read.ok || typeof plan.minutes !== "number" || typeof requests !== "number" || requests < 1) return null;
  if (comparesInputs(plan) && plan.sources.length === 0) return null;
  return {
    steps: read.steps,
    min_requests: requests,
    ...(plan.blueGreen ? { strategy: "blue_green" as const } : {}),
    ...(typeof copies === "number" && copies > 0 ? { shadow: { percent: copies, hold_s } } : {}),
    ...(plan.golden ? {} : { guardrails: { golden: null } }),
    ...(typeof inputs === "number" && inputs > 0 ? { compare: { per_minute: inputs, by: plan.way, sources: plan.sources } } : {}),
  };
}

/** The same as options of the command line. */
export function planOptions(body: PlanBody): string[] {
  const steps = body.steps.map((step) => `${step.percent}:${step.hold_s}`).join(",");
  return [
    ...["--steps", steps, "--min-requests", String(body.min_requests)],
    ...(body.strategy ? ["--strategy", body.strategy] : []),
    ...(body.shadow ? ["--shadow", `${body.shadow.percent}:${body.shadow.hold_s}`] : []),
    ...(body.guardrails ? ["--without", "golden"] : []),
    ...(body.compare ? ["--compare", String(body.compare.per_minute), "--compare-by", body.compare.by] : []),
    ...(body.compare?.sources ?? []).flatMap((one) => ["--compare-from", one]),
  ];
}

/** `copies of 10 % → 1 % → 100 %` */
export const planText = ({ steps, shadow }: PlanBody): string =>
  [
    ...(shadow ? [t`copies of ${shadow.percent} %`] : []),
    ...steps.filter(({ percent }) => percent > 0).map(({ percent }) => `${percent} %`),
  ].join(" → ");
