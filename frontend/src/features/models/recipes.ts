/** What one does to models and versions, in the words of the command line and the REST API. */
import { t } from "@lingui/core/macro";
import { apiPath } from "@/api/paths";
import { downloadPath, type Details } from "@/api/models";
import type { ApiCall, Recipe } from "@/components/as-code";
import { saidIn, STATED_FIELDS, type StatedLineage } from "@/components/lineage";

const named = (name: string, version: number): string[] => ["--name", name, "--version", String(version)];

interface Archived {
  name: string;
  version: number;
  /** Hidden now, so that the action brings it back. */
  versionArchived: boolean;
  /** The same of all versions. */
  modelArchived: boolean;
}

/** The commands of a version and of all its siblings, and what they are called. */
function archiving({ version, versionArchived, modelArchived }: Archived) {
  return {
    one: versionArchived
      ? { command: "restore", word: t`restore`, words: t`restore version ${version}` }
      : { command: "archive", word: t`archive`, words: t`archive version ${version}` },
    all: modelArchived ? { command: "restore", words: t`restore all versions` } : { command: "archive", words: t`archive all versions` },
  };
}

/** The menu of a version: download, and hiding or bringing back the version or all of them. */
export function versionRecipe(archived: Archived): Recipe {
  const { name, version } = archived;
  const { one, all } = archiving(archived);
  const calls: ApiCall[] = [
    { method: "GET", path: downloadPath(name, version), note: t`Download version ${version} as zip` },
    { method: "POST", path: apiPath("models", name, "versions", version, one.command), note: one.words },
    { method: "POST", path: apiPath("models", name, all.command), note: all.words },
  ];
  return {
    title: t`Version ${version} of ${name}: download, ${one.word}, ${all.words}`,
    cli: [
      ["shoal", "model", "download", ...named(name, version)],
      ["shoal", "model", one.command, ...named(name, version)],
      ["shoal", "model", all.command, "--name", name],
    ],
    api: calls,
  };
}

/** Hiding or bringing back one version of an environment, or all of them. */
export function environmentRecipe(archived: Archived): Recipe {
  const { name, version } = archived;
  const { one, all } = archiving(archived);
  return {
    title: t`Version ${version} of ${name}: ${one.word}, ${all.words}`,
    cli: [
      ["shoal", "environment", "show", ...named(name, version)],
      ["shoal", "environment", one.command, ...named(name, version)],
      ["shoal", "environment", all.command, "--name", name],
    ],
    api: [
      { method: "POST", path: apiPath("environments", name, "versions", version, one.command), note: one.words },
      { method: "POST", path: apiPath("environments", name, all.command), note: all.words },
    ],
  };
}

export const aliasRecipe = (name: string, version: number, alias: string): Recipe => ({
  title: t`@${alias} is version ${version} of ${name}`,
  api: [
    { method: "PUT", path: apiPath("models", name, "aliases", alias), body: { version: String(version) }, note: t`Set or move the alias` },
    { method: "DELETE", path: apiPath("models", name, "aliases", alias), note: t`Remove it` },
  ],
});

/** Of one version, or without a number of the model. Commands set tags one by one; the REST call replaces all of them. */
export function detailsRecipe(name: string, version: number | null, details: Required<Details>): Recipe {
  const set = [
    ...(details.description ? [`description=${details.description}`] : []),
    ...Object.entries(details.tags).map(([key, value]) => `tags.${key}=${value}`),
  ];
  const path = version === null ? apiPath("models", name) : apiPath("models", name, "versions", version);
  return {
    title: version === null ? t`Description and tags of ${name}` : t`Description and tags of version ${version} of ${name}`,
    ...(version === null || set.length === 0
      ? {}
      : { cli: [["shoal", "model", "update", ...named(name, version), ...set.flatMap((one) => ["--set", one])]] }),
    api: [{ method: "PATCH", path, body: details }],
  };
}

/** Commands set what is named and leave the rest; the REST call stands for all that was stated before. */
export function lineageRecipe(name: string, version: number, stated: StatedLineage): Recipe {
  const set = STATED_FIELDS.flatMap((field) => ["--set", `lineage.${field}=${stated[field].trim()}`]);
  return {
    title: `Where version ${version} of ${name} comes from`,
    cli: [["shoal", "model", "update", ...named(name, version), ...set]],
    api: [{ method: "PATCH", path: apiPath("models", name, "versions", version), body: { lineage: saidIn(stated) } }],
  };
}

export const deleteRecipe = (name: string, version: number | null, force = false): Recipe => ({
  title: version === null ? `Delete ${name}` : `Delete version ${version} of ${name}`,
  api: [
    {
      method: "DELETE",
      path: version === null ? apiPath("models", name) : apiPath("models", name, "versions", version),
      ...(force ? { query: { force: true } } : {}),
    },
  ],
});
