/** A browser's own name, in two words that people know: "Firefox on Linux". */
import { t } from "@lingui/core/macro";

const BROWSERS: [RegExp, string][] = [
  [/Edg\//, t`Edge`],
  [/OPR\//, t`Opera`],
  [/Firefox\//, t`Firefox`],
  [/Chrom(?:e|ium)\//, t`Chrome`],
  [/Safari\//, t`Safari`],
];
const SYSTEMS: [RegExp, string][] = [
  [/Android/, t`Android`],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, t`Windows`],
  [/Mac OS X/, "macOS"],
  [/Linux|X11/, t`Linux`],
];

const nameIn = (agent: string, table: [RegExp, string][]) => table.find(([pattern]) => pattern.test(agent))?.[1];

export function browserName(agent: string): string {
  const browser = nameIn(agent, BROWSERS);
  const system = nameIn(agent, SYSTEMS);
  if (browser && system) return t`${browser} on ${system}`;
  return browser ?? system ?? (agent.slice(0, 40) || "unknown");
}
