/** How a new deployment gets its first traffic: pure. A draft keeps it. */
import { t } from "@lingui/core/macro";
import type { Endpoint } from "@/api/types";
import { PLAN, planBody, type PlanForm, planOptions, planText } from "@/components/rollout-plan/plan";

export type TrafficWay = "none" | "share" | "all" | "rollout";

export interface FirstTraffic {
  way: TrafficWay;
  /** Percent, as it is typed. */
  share: number | string;
  plan: PlanForm;
}

export const FIRST_SHARE = 10;
export const firstTraffic = (way: TrafficWay): FirstTraffic => ({ way, share: FIRST_SHARE, plan: PLAN });

/** What a stored draft says; older ones knew all or nothing. */
export function storedTraffic(first: FirstTraffic, stored: { traffic?: Partial<FirstTraffic>; takeTraffic?: boolean }): FirstTraffic {
  const way = stored.takeTraffic === undefined ? first.way : stored.takeTraffic ? "all" : "none";
  return { ...first, way, ...stored.traffic, plan: { ...first.plan, ...stored.traffic?.plan } };
}

type Serving = Pick<Endpoint, "traffic">;

/** `blue 80 %, green 20 %`; empty where nothing gets traffic. */
export const sharesText = (traffic: Readonly<Record<string, number>>): string =>
  Object.entries(traffic)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${name} ${share} %`)
    .join(", ");

const answers = (existing: Serving | undefined): existing is Serving => Object.values(existing?.traffic ?? {}).some((share) => share > 0);

/** A share and a comparison need something beside it. */
export const waysFor = (existing: Serving | undefined): TrafficWay[] =>
  answers(existing) ? ["none", "share", "all", "rollout"] : ["none", "all"];

/** Why not all ways are offered; null where they are. */
export function whyFew(name: string, existing: Serving | undefined): string | null {
  if (answers(existing)) return null;
  return existing
    ? t`A share or stages need a deployment beside it that answers: nothing of ${name} gets traffic.`
    : t`A share or stages need a deployment beside it that answers: a new endpoint has none.`;
}

export function trafficProblem({ way, share, plan }: FirstTraffic): string | null {
  if (way === "share" && !(typeof share === "number" && Number.isInteger(share) && share >= 1 && share <= 99))
    return t`The share of the traffic: a whole number from 1 to 99.`;
  return way === "rollout" && planBody(plan, 0) === null ? t`The stages are not complete.` : null;
}

const percentOf = ({ way, share }: FirstTraffic): number => (way === "all" ? 100 : way === "share" ? Number(share) : 0);

/** What `POST /deploy` is sent of it. */
export function trafficBody(first: FirstTraffic) {
  const rollout = first.way === "rollout" ? planBody(first.plan, 0) : null;
  return rollout ? { rollout } : { traffic: percentOf(first) };
}

/** The same as options of what creates a deployment. */
export function trafficOptions(first: FirstTraffic): string[] {
  if (first.way === "all") return ["--all-traffic"];
  if (first.way === "share") return ["--traffic", String(first.share)];
  const rollout = first.way === "rollout" ? planBody(first.plan, 0) : null;
  return rollout ? ["--rollout", ...planOptions(rollout)] : [];
}

/** A part of a sentence: `10 % of the traffic`, `in stages: 1 % → 100 %`. */
export function trafficText(first: FirstTraffic): string {
  const rollout = first.way === "rollout" ? planBody(first.plan, 0) : null;
  return rollout ? t`in stages: ${planText(rollout)}` : t`${percentOf(first)} % of the traffic`;
}

export function deployLabel(deployment: string, first: FirstTraffic): string {
  if (first.way === "rollout") return deployment ? t`Deploy ${deployment} and roll it out` : t`Deploy it and roll it out`;
  const share = percentOf(first);
  return deployment ? t`Deploy ${deployment} at ${share} %` : t`Deploy it at ${share} %`;
}

/** What comes of it, beneath the choice. */
export function trafficNote(deployment: string, first: FirstTraffic, existing: Serving | undefined): string {
  const now = sharesText(existing?.traffic ?? {});
  const share = percentOf(first);
  if (first.way === "none")
    return now
      ? t`Traffic stays at ${now}. Test the new deployment directly, then move traffic.`
      : t`It can be tested directly, and gets traffic when you say so.`;
  if (!now) return t`The endpoint answers as soon as every replica is ready.`;
  if (first.way === "rollout")
    return t`Before: ${now}. The server begins as soon as it is ready, goes on while it does no worse, and gives the traffic back where it does; this page may be closed.`;
  return share === 100
    ? t`Before: ${now}. After: ${deployment} 100 %.`
    : t`Before: ${now}. After: ${deployment} ${share} %, the others keep their proportions.`;
}
