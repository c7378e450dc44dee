/** What differs between two versions: their files, and what their models take and give. Pure. */
import { t } from "@lingui/core/macro";
import type { ManifestFile, ModelVersion, Tensor } from "@/api/types";

export type Change = "added" | "removed" | "changed" | "same";

export interface FileDifference {
  path: string;
  change: Change;
  before: ManifestFile | null;
  after: ManifestFile | null;
}

const ORDER: Record<Change, number> = { changed: 0, added: 1, removed: 2, same: 3 };

/** What changed first, then by path. */
export function fileDifferences(before: readonly ManifestFile[], after: readonly ManifestFile[]): FileDifference[] {
  const old = new Map(before.map((file) => [file.path, file]));
  const now = new Map(after.map((file) => [file.path, file]));
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path): FileDifference => {
      const [was, is] = [old.get(path) ?? null, now.get(path) ?? null];
      const change = was === null ? "added" : is === null ? "removed" : was.sha256 === is.sha256 ? "same" : "changed";
      return { path, change, before: was, after: is };
    })
    .sort((a, b) => ORDER[a.change] - ORDER[b.change] || a.path.localeCompare(b.path));
}

const tensorText = ({ name, datatype, shape }: Tensor): string => `${name} ${datatype} [${shape.join(", ")}]`;

const CHANGED = {
  backend: (name: string, was: string, is: string) => t`The backend of ${name} was ${was}, it is ${is}.`,
  max_batch_size: (name: string, was: string, is: string) => t`The largest batch of ${name} was ${was}, it is ${is}.`,
  decoupled: (name: string, was: string, is: string) => t`The streaming of ${name} was ${was}, it is ${is}.`,
};

/** One sentence per difference in models, inputs and outputs; empty when clients notice nothing. */
export function contractDifferences(before: ModelVersion, after: ModelVersion): string[] {
  const sentences: string[] = [];
  const names = [...new Set([...before.repo_models, ...after.repo_models].map((model) => model.name))].sort();
  for (const name of names) {
    const old = before.repo_models.find((model) => model.name === name);
    const now = after.repo_models.find((model) => model.name === name);
    if (!old || !now) {
      sentences.push(old ? t`Model ${name} is gone.` : t`Model ${name} is new.`);
      continue;
    }
    for (const side of ["inputs", "outputs"] as const) {
      const word = side === "inputs" ? t`Input` : t`Output`;
      for (const tensor of now[side]) {
        const was = old[side].find((other) => other.name === tensor.name);
        if (!was) sentences.push(t`${word} ${tensorText(tensor)} of ${name} is new.`);
        else if (tensorText(was) !== tensorText(tensor))
          sentences.push(t`${word} ${tensorText(was)} of ${name} is now ${tensorText(tensor)}.`);
      }
      for (const tensor of old[side])
        if (!now[side].some((other) => other.name === tensor.name)) sentences.push(t`${word} ${tensorText(tensor)} of ${name} is gone.`);
    }
    for (const field of ["backend", "max_batch_size", "decoupled"] as const)
      if (old[field] !== now[field]) sentences.push(CHANGED[field](name, String(old[field]) || t`none`, String(now[field]) || t`none`));
  }
  return sentences;
}

/** The configuration in force: the latest edit, the file, or what was completed. */
export function configOf(version: ModelVersion, model: string): string {
  const revised = version.config_revisions.reduce((latest, one) => (one.number >= latest.number ? one : latest), {
    number: 0,
    configs: {} as Record<string, string>,
  });
  const row = version.repo_models.find((one) => one.name === model);
  return revised.configs[model] ?? (row?.config_text.trim() ? row.config_text : (row?.config_effective ?? ""));
}
