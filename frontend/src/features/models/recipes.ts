/** What one does to models and versions, in the words of the command line and the REST API. */
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

/** The menu of a version: download, and hiding or bringing back the version or all of them. */
export function versionRecipe({ name, version, versionArchived, modelArchived }: Archived): Recipe {
  const [one, all] = [versionArchived, modelArchived].map((archived) => (archived ? "restore" : "archive"));
  const calls: ApiCall[] = [
    { method: "GET", path: downloadPath(name, version), note: `Download version ${version} as zip` },
    { method: "POST", path: apiPath("models", name, "versions", version, String(one)), note: `${one} version ${version}` },
    { method: "POST", path: apiPath("models", name, String(all)), note: `${all} all versions` },
  ];
  return {
    title: `Version ${version} of ${name}: download, ${one}, ${all} all versions`,
    cli: [
      ["shoal", "model", "download", ...named(name, version)],
      ["shoal", "model", String(one), ...named(name, version)],
      ["shoal", "model", String(all), "--name", name],
    ],
    api: calls,
  };
}

/** Hiding or bringing back one version of an environment, or all of them. */
export function environmentRecipe({ name, version, versionArchived, modelArchived }: Archived): Recipe {
  const [one, all] = [versionArchived, modelArchived].map((archived) => (archived ? "restore" : "archive"));
  return {
    title: `Version ${version} of ${name}: ${one}, ${all} all versions`,
    cli: [
      ["shoal", "environment", "show", ...named(name, version)],
      ["shoal", "environment", String(one), ...named(name, version)],
      ["shoal", "environment", String(all), "--name", name],
    ],
    api: [
      { method: "POST", path: apiPath("environments", name, "versions", version, String(one)), note: `${one} version ${version}` },
      { method: "POST", path: apiPath("environments", name, String(all)), note: `${all} all versions` },
    ],
  };
}

export const aliasRecipe = (name: string, version: number, alias: string): Recipe => ({
  title: `@${alias} is version ${version} of ${name}`,
  api: [
    { method: "PUT", path: apiPath("models", name, "aliases", alias), body: { version: String(version) }, note: "Set or move the alias" },
    { method: "DELETE", path: apiPath("models", name, "aliases", alias), note: "Remove it" },
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
    title: version === null ? `Description and tags of ${name}` : `Description and tags of version ${version} of ${name}`,
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
