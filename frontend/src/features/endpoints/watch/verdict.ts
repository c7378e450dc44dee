/** What is said of a change of traffic, from what the server found. Pure. */
import { plural, t } from "@lingui/core/macro";
import type { TrafficChange, TrafficWatch } from "@/api/types";
import { metricText } from "@/metrics/registry";

type Found = NonNullable<TrafficWatch["found"]>;
type Gaining = Found["gaining"][number];
type Figures = Found["before"];

export interface Verdict {
  tone: "info" | "ok" | "warn" | "error";
  /** Stays the same while the tone does: it is read aloud. */
  title: string;
  detail: string;
}

const TONES: Record<Found["verdict"], Verdict["tone"]> = {
  fine: "ok",
  too_few: "info",
  none_gains: "info",
  nobody: "warn",
  slower: "warn",
  errors: "error",
};

const inWords = ({ error_share, p95_us }: Figures): string =>
  `${metricText("error_rate", error_share)}, p95 ${metricText("p95_us", p95_us)}`;

function titleOf({ deployment: name, verdict, compared }: Gaining): string {
  if (verdict === "too_few") return t`Watching ${name}`;
  if (verdict === "errors") return compared ? t`${name} fails more requests than before` : t`${name} answers with errors`;
  if (verdict === "slower") return t`${name} is slower than before`;
  return compared ? t`${name} does no worse than before` : t`${name} answers`;
}

function detailOf({ figures, verdict, compared }: Gaining, before: Figures): string {
  if (verdict === "too_few") {
    return t`${plural(figures.requests, { one: "# request", other: "# requests" })} so far: too few to say how it does.`;
  }
  const told = t`Errors ${inWords(figures)}`;
  return compared
    ? t`${told}; before the change errors ${inWords(before)}.`
    : t`${told}; too little came before the change to compare with.`;
}

export function verdict(found: Found | null): Verdict {
  if (found === null) return { tone: "info", title: "", detail: t`Counting the first answers.` };
  const { gaining, before } = found;
  const tone = TONES[found.verdict];
  if (found.verdict === "nobody") return { tone, title: t`Nobody gets requests`, detail: t`Every caller is answered 404.` };
  if (found.verdict === "none_gains") return { tone, title: t`Traffic is moved`, detail: t`No deployment gets more than before.` };
  const told = gaining.filter((one) => one.verdict === found.verdict);
  const [first] = told;
  if (first === undefined) return { tone, title: "", detail: "" };
  if (told.length === 1) return { tone, title: titleOf(first), detail: detailOf(first, before) };
  return {
    tone,
    title: tone === "ok" ? t`${told.map((one) => one.deployment).join(t` and `)} do no worse than before` : titleOf(first),
    detail: told.map((one) => `${one.deployment}: ${detailOf(one, before)}`).join(" "),
  };
}

/** Whether it is worth a place on the page: it is not over, or what was found is bad. */
export const isTold = (change: TrafficChange, found: Found | null): boolean =>
  change.state !== "watched" || ["warn", "error"].includes(found === null ? "info" : TONES[found.verdict]);
