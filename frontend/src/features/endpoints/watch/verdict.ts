/** What is said of a change of traffic, from what the server found. Pure. */
import { plural, t } from "@lingui/core/macro";
import type { TrafficChange, TrafficWatch } from "@/api/types";
import { listed } from "@/components/format";
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

/** Of those that do equally; whether there is anything to compare with is the same of all. */
function titleOf(alike: readonly Gaining[], { verdict, compared }: Gaining): string {
  const names = listed(alike.map((one) => one.deployment));
  if (verdict === "too_few") return t`Watching ${names}`;
  return alike.length === 1 ? oneTitle(names, verdict, compared) : severalTitle(names, verdict, compared);
}

function oneTitle(name: string, verdict: Gaining["verdict"], compared: boolean): string {
  if (verdict === "errors") return compared ? t`${name} fails more requests than before` : t`${name} answers with errors`;
  if (verdict === "slower") return t`${name} is slower than before`;
  return compared ? t`${name} does no worse than before` : t`${name} answers`;
}

function severalTitle(names: string, verdict: Gaining["verdict"], compared: boolean): string {
  if (verdict === "errors") return compared ? t`${names} fail more requests than before` : t`${names} answer with errors`;
  if (verdict === "slower") return t`${names} are slower than before`;
  return compared ? t`${names} do no worse than before` : t`${names} answer`;
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
  const details = told.map((one) => detailOf(one, before));
  return {
    tone,
    title: titleOf(told, first),
    detail: told.length === 1 ? details.join("") : details.map((detail, index) => `${told[index]?.deployment}: ${detail}`).join(" "),
  };
}

/** Whether it is worth a place on the page: it is not over, or what was found is bad. */
export const isTold = (change: TrafficChange, found: Found | null): boolean =>
  change.state !== "watched" || ["warn", "error"].includes(found === null ? "info" : TONES[found.verdict]);
