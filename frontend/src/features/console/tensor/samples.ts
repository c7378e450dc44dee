/** Ready-made data, for a first call without thinking. */
import { datatypeInfo } from "./datatypes";

export type SampleKind = "zeros" | "random";

/** One element as text, the way a person would type it. `random` is a number in [0, 1). */
export function sampleElement(datatype: string, kind: SampleKind, random: number, index: number): string {
  const info = datatypeInfo(datatype);
  if (info.kind === "bytes") return kind === "zeros" ? "" : `sample ${index + 1}`;
  if (info.kind === "bool") return String(kind === "random" && random >= 0.5);
  if (kind === "zeros") return "0";
  return info.kind === "integer" ? String(Math.floor(random * 10)) : random.toFixed(4);
}

export function sampleElements(
  datatype: string,
  count: number,
  kind: SampleKind,
  random: () => number = Math.random,
): string[] {
  return Array.from({ length: count }, (_, index) => sampleElement(datatype, kind, random(), index));
}
