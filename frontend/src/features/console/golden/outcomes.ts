/** What came out of golden cases, in words. Pure. */
import { t } from "@lingui/core/macro";
import type { Endpoint, TestOutcome } from "@/api/types";
import type { Tone } from "@/components/status";

export const OUTCOMES: Record<TestOutcome["status"], { word: string; tone: Tone }> = {
  passed: { word: t`as expected`, tone: "ok" },
  differs: { word: t`differs`, tone: "error" },
  refused: { word: t`refused`, tone: "error" },
  unanswered: { word: t`not answered`, tone: "warn" },
};

const PARTS: readonly (readonly [readonly TestOutcome["status"][], string])[] = [
  [["passed"], t`as expected`],
  [["differs", "refused"], t`wrong`],
  [["unanswered"], t`not answered`],
];

export function summary(outcomes: readonly TestOutcome[]): string {
  const parts = PARTS.map(([kinds, word]) => [outcomes.filter((one) => kinds.includes(one.status)).length, word] as const);
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

/** Deployments that can answer, the one with the most traffic first. */
export const targetsOf = (endpoint: Pick<Endpoint, "deployments" | "traffic">): string[] =>
  endpoint.deployments
    .filter((one) => one.replicas.some((replica) => replica.state.toLowerCase() === "ready"))
    .map((one) => one.name)
    .sort((a, b) => (endpoint.traffic[b] ?? 0) - (endpoint.traffic[a] ?? 0));
