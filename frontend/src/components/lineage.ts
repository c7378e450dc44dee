/** Where an imported model is from, in lines; what its source does not tell is left out. */
import { t } from "@lingui/core/macro";
import type { Lineage } from "@/api/types";

const TERMS: [keyof Lineage, string][] = [
  ["address", t`Imported from`],
  ["revision", t`Revision`],
  ["commit", t`Commit`],
  ["repository", t`Repository`],
  ["run", t({ message: "Run", context: "of an experiment" })],
  ["experiment", t`Experiment`],
  ["dataset", t`Dataset`],
  ["etag", "ETag"],
];

export const lineageFacts = (lineage: Lineage): [string, string][] =>
  TERMS.map(([field, term]): [string, string] => [term, lineage[field]]).filter(([, value]) => value !== "");
