/** Where a model comes from, in lines: what its import found and what somebody stated. What nobody tells is left out. */
import { t } from "@lingui/core/macro";
import type { Lineage } from "@/api/types";

/** What a person may state. */
export const STATED_FIELDS = ["address", "run", "run_url", "commit", "dataset"] as const;
export type StatedField = (typeof STATED_FIELDS)[number];
export type StatedLineage = Readonly<Record<StatedField, string>>;

export const NOTHING_STATED: StatedLineage = { address: "", run: "", run_url: "", commit: "", dataset: "" };

export const LABELS: Readonly<Record<StatedField, string>> = {
  address: t`Source`,
  run: t({ message: "Run", context: "of an experiment" }),
  run_url: t`Page of the run`,
  commit: t`Commit`,
  dataset: t`Dataset`,
};
const TERMS: [Exclude<keyof Lineage, "address" | "run" | "run_url">, string][] = [
  ["revision", t`Revision`],
  ["commit", LABELS.commit],
  ["repository", t`Repository`],
  ["experiment", t`Experiment`],
  ["dataset", LABELS.dataset],
  ["etag", "ETag"],
];

/** Somebody typed it: a link only where it is one of the web, whatever else a server may have let through. */
export const isWebLink = (text: string): boolean => /^https?:\/\//i.test(text);

const mono = (text: string) => <span className="mono">{text}</span>;

function linked(to: string, text: string): React.ReactNode {
  if (!isWebLink(to)) return mono(text);
  return (
    <a className="link mono" href={to} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  );
}

/** With `Lineage` of a server, or with what is about to be stated. */
export function lineageFacts(lineage: Partial<Lineage>): [string, React.ReactNode][] {
  const { address = "", run = "", run_url: page = "", kind = "stated" } = lineage;
  const facts: [string, React.ReactNode][] = [];
  if (address !== "") facts.push([kind === "stated" ? LABELS.address : t`Imported from`, linked(address, address)]);
  if (run !== "" || page !== "") facts.push([LABELS.run, linked(page, run || page)]);
  for (const [field, term] of TERMS) {
    const value = lineage[field];
    if (typeof value === "string" && value !== "") facts.push([term, mono(value)]);
  }
  return facts;
}

/** What a form starts with: the statement of before. */
export function statedOf(lineage: Lineage | null): StatedLineage {
  const said = lineage?.stated ?? [];
  return Object.fromEntries(STATED_FIELDS.map((field) => [field, said.includes(field) ? (lineage?.[field] ?? "") : ""])) as Record<
    StatedField,
    string
  >;
}

/** Without what is empty: what a server is sent. */
export const saidIn = (stated: StatedLineage): Partial<Record<StatedField, string>> =>
  Object.fromEntries(STATED_FIELDS.map((field) => [field, stated[field].trim()]).filter(([, text]) => text !== ""));

/** Fields that an import found: nobody can state them otherwise. */
export const foundIn = (lineage: Lineage | null): readonly StatedField[] =>
  STATED_FIELDS.filter((field) => (lineage?.[field] ?? "") !== "" && !lineage?.stated.includes(field));
