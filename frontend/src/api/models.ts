/** Models, their immutable versions, and the checks of config.pbtxt. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, getAll, patch, post, put } from "./client";
import { keys } from "./keys";
import type {
  ConfigRevision,
  ConfigValidation,
  Model,
  ModelCreate,
  ModelPage,
  ModelVersion,
  ModelVersionSummary,
  RepoModelConfig,
  Signatures,
  Usage,
  ValidateRequest,
} from "./types";

export type ModelSearch = {
  q?: string;
  limit?: number;
  cursor?: string;
  archived?: "active" | "archived" | "all";
  backend?: string;
  deployed?: boolean;
  order_by?: string;
} & { [tag: `tag.${string}`]: string };

export const modelsQuery = (search: ModelSearch = {}) =>
  queryOptions({
    queryKey: keys.models.list(search),
    queryFn: ({ signal }) => get<ModelPage>(apiPath("models"), { query: search, signal }),
  });

export const modelQuery = (name: string) =>
  queryOptions({
    queryKey: keys.models.one(name),
    queryFn: ({ signal }) => get<Model>(apiPath("models", name), { signal }),
  });

export const modelVersionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.models.versions(name),
    queryFn: ({ signal }) => getAll<ModelVersionSummary>(apiPath("models", name, "versions"), { signal }),
  });

export const modelVersionQuery = (name: string, version: number | "latest") =>
  queryOptions({
    queryKey: keys.models.version(name, version),
    queryFn: ({ signal }) => get<ModelVersion>(apiPath("models", name, "versions", version), { signal }),
  });

export const createModel = (body: ModelCreate) => post<ModelVersion>(apiPath("models"), body);
/** Edited texts over a version; the same texts again are the same revision. */
export const createConfigRevision = (
  name: string,
  version: number,
  configs: Record<string, string>,
  message = "",
  /** The revision that was edited, 0 for the files; the latest unless said. */
  base?: number,
) =>
  post<ConfigRevision>(apiPath("models", name, "versions", version, "config-revisions"), {
    configs,
    message,
    ...(base === undefined ? {} : { base }),
  });
export const archiveModel = (name: string) => post<Model>(apiPath("models", name, "archive"));
export const restoreModel = (name: string) => post<Model>(apiPath("models", name, "restore"));

export interface Words {
  description?: string;
  tags?: Record<string, string>;
}
export const updateModel = (name: string, words: Words) => patch<Model>(apiPath("models", name), words);
export const updateVersion = (name: string, version: number, words: Words) =>
  patch<ModelVersion>(apiPath("models", name, "versions", version), words);
export const archiveVersion = (name: string, version: number) =>
  post<ModelVersion>(apiPath("models", name, "versions", version, "archive"));
export const restoreVersion = (name: string, version: number) =>
  post<ModelVersion>(apiPath("models", name, "versions", version, "restore"));
/** Let the code in it run; `revision` is the newest edit that was looked at, what later ones name waits on. */
export const approveVersion = (name: string, version: number, revision?: number | null) =>
  post<ModelVersion>(apiPath("models", name, "versions", version, "approve"), { config_revision: revision ?? null });
export const newestRevision = (version: ModelVersion): number =>
  Math.max(0, ...version.config_revisions.map((one) => one.number));
export const deleteVersion = (name: string, version: number, force: boolean) =>
  del<unknown>(apiPath("models", name, "versions", version), force ? { force } : undefined);
export const setAlias = (name: string, alias: string, version: number) =>
  put<ModelVersion>(apiPath("models", name, "aliases", alias), { version: String(version) });
export const deleteAlias = (name: string, alias: string) => del<unknown>(apiPath("models", name, "aliases", alias));

export const usageQuery = (name: string, version: number) =>
  queryOptions({
    queryKey: [...keys.models.version(name, version), "usage"],
    queryFn: ({ signal }) =>
      getAll<Usage>(apiPath("models", name, "versions", version, "usage"), { signal }),
  });

/** Who signed what revision `revision` would run; 0 stands for the files. */
export const signaturesQuery = (name: string, version: number, revision: number) =>
  queryOptions({
    queryKey: [...keys.models.version(name, version), "signatures", revision],
    queryFn: ({ signal }) =>
      get<Signatures>(apiPath("models", name, "versions", version, "signatures"), {
        query: { config_revision: revision },
        signal,
      }),
  });

/** What the checks say about one configuration, and the text as JSON; revision 0 is the file. */
export const repoModelConfigQuery = (name: string, version: number, repoModel: string, revision = 0) =>
  queryOptions({
    queryKey: [...keys.models.version(name, version), "config", repoModel, revision],
    queryFn: ({ signal }) =>
      get<RepoModelConfig>(apiPath("models", name, "versions", version, "repo-models", repoModel, "config"), {
        query: { revision },
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The path keeps its slashes: the server takes the rest of the address as the file's path. */
export const filePath = (name: string, version: number, path: string): string =>
  `${apiPath("models", name, "versions", version, "files")}/${path.split("/").map(encodeURIComponent).join("/")}`;
export const downloadPath = (name: string, version: number, revision = 0): string =>
  `${apiPath("models", name, "versions", version, "archive.zip")}${revision ? `?revision=${revision}` : ""}`;

export const deleteModel = (name: string) => del<unknown>(apiPath("models", name));

export const validateConfig = (body: ValidateRequest, signal?: AbortSignal) =>
  post<ConfigValidation>(apiPath("config", "validate"), body, signal ? { signal } : {});
export const renderConfig = (config: Record<string, unknown>) =>
  post<{ text: string }>(apiPath("config", "render"), { config });
