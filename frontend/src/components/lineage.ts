/** Where an imported model is from, in lines; what its source does not tell is left out. */
import type { Lineage } from "@/api/types";

const TERMS: [keyof Lineage, string][] = [
  ["address", "Imported from"],
  ["revision", "Revision"],
  ["commit", "Commit"],
  ["repository", "Repository"],
  ["run", "Run"],
  ["experiment", "Experiment"],
  ["dataset", "Dataset"],
  ["etag", "ETag"],
];

export const lineageFacts = (lineage: Lineage): [string, string][] =>
  TERMS.map(([field, term]): [string, string] => [term, lineage[field]]).filter(([, value]) => value !== "");
