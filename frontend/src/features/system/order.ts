/** The parts in groups, as the page shows them. */
import { plural, t } from "@lingui/core/macro";
import type { SystemPart, SystemState } from "@/api/types";
import type { Tone } from "@/components/status";

export const TONES: Record<SystemState, Tone> = { ok: "ok", warning: "warn", error: "error", unknown: "idle" };
export const WORDS: Record<SystemState, string> = { ok: t`Works`, warning: t`Look at it`, error: t`Down`, unknown: t`Not seen yet` };

const GROUPS: readonly { title: string; kinds: readonly SystemPart["kind"][] }[] = [
  { title: t`Control plane`, kinds: ["web", "database"] },
  { title: t`Background work`, kinds: ["broker", "beat", "worker"] },
  { title: t`Gateways`, kinds: ["gateway"] },
  { title: t`Node agents`, kinds: ["agent"] },
  { title: t`Certificates`, kinds: ["certificate"] },
  { title: t`Disks`, kinds: ["disk"] },
];
const WORST: SystemState[] = ["error", "warning", "unknown", "ok"];

/** "1 of 12 parts needs a look". */
export const partsWords = (bad: number, all: number): string =>
  bad === 0 ? t`All parts work` : plural(bad, { one: `# of ${all} parts needs a look`, other: `# of ${all} parts need a look` });

export interface PartGroup {
  title: string;
  parts: SystemPart[];
}

/** Groups without parts are left out; within one the worst comes first, else the server's order. */
export function grouped(parts: readonly SystemPart[]): PartGroup[] {
  return GROUPS.map(({ title, kinds }) => ({
    title,
    parts: parts
      .filter((part) => kinds.includes(part.kind))
      .map((part, index) => ({ part, index }))
      .sort((a, b) => WORST.indexOf(a.part.state) - WORST.indexOf(b.part.state) || a.index - b.index)
      .map(({ part }) => part),
  })).filter((group) => group.parts.length > 0);
}
