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

function Linked({ to, children }: { to: string; children: string }) {
  if (!isWebLink(to)) return <span className="mono">{children}</span>;
  return (
    <a className="link mono" href={to} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** With `Lineage` of a server, or with what is about to be stated. */
export function lineageFacts(lineage: Partial<Lineage>): [string, React.ReactNode][] {
  const { address = "", run = "", run_url: page = "", kind = "stated" } = lineage;
  const facts: [string, React.ReactNode][] = [];
  if (address !== "") facts.push([kind === "stated" ? LABELS.address : t`Imported from`, <Linked key="a" to={address} children={address} />]);
  if (run !== "" || page !== "") facts.push([LABELS.run, <Linked key="r" to={page} children={run || page} />]);
  for (const [field, term] of TERMS) {
    const value = lineage[field];
    if (typeof value === "string" && value !== "") facts.push([term, <span key={field} className="mono" children={value} />]);
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
