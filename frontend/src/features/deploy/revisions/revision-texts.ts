/** The texts that a revision stands for, model by model. Pure. */
import type { ConfigRevision, RepoModel } from "@/api/types";

/** The file's own text, or what was completed where the upload had none. */
export const fileText = (model: Pick<RepoModel, "config_text" | "config_effective"> | undefined): string =>
  model?.config_text.trim() ? model.config_text : (model?.config_effective ?? "");

/** Revision 0 is the files themselves. */
export function textsOf(
  models: readonly Pick<RepoModel, "name" | "config_text" | "config_effective">[],
  revisions: readonly Pick<ConfigRevision, "number" | "configs">[],
  number: number,
): string[] {
  const configs = revisions.find((one) => one.number === number)?.configs ?? {};
  return models.map((model) => configs[model.name] ?? fileText(model));
}

/** The number of the last revision, 0 where there are only the files. */
export const newestOf = (version: { config_revisions: readonly Pick<ConfigRevision, "number">[] }): number =>
  Math.max(0, ...version.config_revisions.map((one) => one.number));
