/** How a deployment does after traffic was moved to it, against how the endpoint did before. Pure. */
import { plural, t } from "@lingui/core/macro";
import type { MetricColumns } from "@/api/types";
import { ALL, metricKey } from "@/live/metric-keys";
import { type Metric, metricText } from "@/metrics/registry";
import type { Split } from "../traffic";

/** How long a change is looked at. */
export const WATCH_S = 30;
/** How much of the time before it is compared with. */
export const BEFORE_S = 300;
/** Fewer answers than this show little. */
const FEW_REQUESTS = 20;
/** So many times the share of errors from before, and so much more of all, is worse. */
const ERROR_FACTOR = 2;
const ERROR_SHARE = 0.01;
/** So many times the p95 from before, and so much longer, is slower. */
const SLOWER_FACTOR = 1.5;
const SLOWER_US = 2_000;

export interface Figures {
  requests: number;
  /** Share of answers from 400 on; null when there were none. */
  errors: number | null;
  /** Median of the p95 of each bucket, in microseconds. */
  p95: number | null;
}

export interface Verdict {
  tone: "info" | "ok" | "warn" | "error";
  /** Stays the same while the tone does: it is read aloud. */
  title: string;
  detail: string;
}

export const WATCH_METRICS = (["answers_2xx", "errors_4xx", "errors_5xx", "p95_us"] satisfies Metric[]).join(",");

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** Of the buckets that end after `from` and up to `to` (the clock of the columns). */
export function figures(columns: MetricColumns, scope: string, from: number, to: number): Figures {
  const read = (metric: Metric) =>
    (columns.v[columns.keys.indexOf(metricKey(metric, scope))] ?? []).filter((value, index): value is number => {
      const at = columns.t[index] ?? Number.NaN;
      return value !== null && at > from && at <= to;
    });
  const counted = (metric: Metric) => read(metric).reduce((sum, value) => sum + value, 0) * columns.step_s;
  const failed = counted("errors_4xx") + counted("errors_5xx");
  const requests = failed + counted("answers_2xx");
  return { requests: Math.round(requests), errors: requests > 0 ? failed / requests : null, p95: median(read("p95_us")) };
}

export const gaining = (before: Split, after: Split): string[] =>
  Object.keys(after).filter((name) => (after[name] ?? 0) > (before[name] ?? 0));

const RANK = { ok: 0, info: 1, warn: 2, error: 3 } as const;

const inWords = ({ errors, p95 }: Figures): string => `${metricText("error_rate", errors)}, p95 ${metricText("p95_us", p95)}`;

function ofOne(name: string, now: Figures, before: Figures): Verdict {
  if (now.requests < FEW_REQUESTS) {
    return {
      tone: "info",
      title: t`Watching ${name}`,
      detail: t`${plural(now.requests, { one: "# request", other: "# requests" })} so far: too few to say how it does.`,
    };
  }
  const told = t`Errors ${inWords(now)}`;
  if (before.requests < FEW_REQUESTS) {
    const bad = (now.errors ?? 0) > ERROR_SHARE;
    return {
      tone: bad ? "error" : "ok",
      title: bad ? t`${name} answers with errors` : t`${name} answers`,
      detail: t`${told}; too little came before the change to compare with.`,
    };
  }
  const detail = t`${told}; before the change errors ${inWords(before)}.`;
  const [errors, errorsBefore] = [now.errors ?? 0, before.errors ?? 0];
  if (errors > errorsBefore * ERROR_FACTOR && errors > errorsBefore + ERROR_SHARE) {
    return { tone: "error", title: t`${name} fails more requests than before`, detail };
  }
  if (now.p95 !== null && before.p95 !== null && now.p95 > before.p95 * SLOWER_FACTOR && now.p95 > before.p95 + SLOWER_US) {
    return { tone: "warn", title: t`${name} is slower than before`, detail };
  }
  return { tone: "ok", title: t`${name} does no worse than before`, detail };
}

/** The worst of what is to be said about those that got more; `changedAt` by the clock of the columns. */
export function verdict(columns: MetricColumns | null, before: Split, after: Split, changedAt: number): Verdict {
  const names = gaining(before, after);
  if (names.length === 0) {
    const nobody = Object.values(after).every((share) => share === 0);
    return nobody
      ? { tone: "warn", title: t`Nobody gets requests`, detail: t`Every caller is answered 404.` }
      : { tone: "info", title: t`Traffic is moved`, detail: t`No deployment gets more than before.` };
  }
  if (columns === null) return { tone: "info", title: t`Watching ${names.join(t` and `)}`, detail: t`Counting the first answers.` };
  const base = figures(columns, ALL, changedAt - BEFORE_S, changedAt);
  const found = names.map((name) => ofOne(name, figures(columns, name, changedAt, Number.POSITIVE_INFINITY), base));
  const worst = found.reduce((a, b) => (RANK[b.tone] > RANK[a.tone] ? b : a));
  return found.length > 1 && worst.tone === "ok"
    ? {
        ...worst,
        title: t`${names.join(t` and `)} do no worse than before`,
        detail: found.map((one, index) => `${names[index]}: ${one.detail}`).join(" "),
      }
    : worst;
}
