/** Models, their immutable versions, and the checks of config.pbtxt. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import { apiPath } from "./paths";
import type { operations } from "./schema";
import type { LineageStated, ModelCreate, ModelVersion, ValidateRequest } from "./types";

export type ModelSearch = NonNullable<operations["models_list"]["parameters"]["query"]> & { [tag: `tag.${string}`]: string };

const of = (name: string) => ({ path: { name } });
const ofVersion = (name: string, version: number | "latest") => ({ path: { name, version: String(version) } });

export const modelsQuery = (search: ModelSearch = {}) =>
  queryOptions({
    queryKey: keys.models.list(search),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/models", { params: { query: search }, signal })),
  });

/** All of them, or all that contain `q`, for who looks for one by its name: the first page may not have it. */
export const allModelsQuery = (q = "") =>
  queryOptions({
    queryKey: keys.models.every(q),
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/models", { params: { query: { ...page, q } }, signal })),
    // why not at each look: there may be thousands. Whoever asks for one name wants what is there now.
    staleTime: q === "" ? 30_000 : 0,
  });

export const modelQuery = (name: string) =>
  queryOptions({
    queryKey: keys.models.one(name),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/models/{name}", { params: of(name), signal })),
  });

export const modelVersionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.models.versions(name),
    queryFn: ({ signal }) =>
      everyPage((page) => api.GET("/api/v1/models/{name}/versions", { params: { ...of(name), query: page }, signal })),
  });

export const modelVersionQuery = (name: string, version: number | "latest") =>
  queryOptions({
    queryKey: keys.models.version(name, version),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/models/{name}/versions/{version}", { params: ofVersion(name, version), signal })),
  });

export const createModel = (body: ModelCreate) => answer(api.POST("/api/v1/models", { body }));
/** Edited texts over a version; the same texts again are the same revision. */
export const createConfigRevision = (
  name: string,
  version: number,
  configs: Record<string, string>,
  message = "",
  /** The revision that was edited, 0 for the files; the latest unless said. */
  base?: number,
  /** `config_etag` of the version as it was read: where others have saved since it is refused (412). */
  seen?: string,
) =>
  answer(
    api.POST("/api/v1/models/{name}/versions/{version}/config-revisions", {
      params: { ...ofVersion(name, version), ...(seen === undefined ? {} : { header: { "If-Match": seen } }) },
      body: { configs, message, ...(base === undefined ? {} : { base }) },
    }),
  );
export const archiveModel = (name: string) => answer(api.POST("/api/v1/models/{name}/archive", { params: of(name) }));
export const restoreModel = (name: string) => answer(api.POST("/api/v1/models/{name}/restore", { params: of(name) }));

export interface Details {
  description?: string;
  tags?: Record<string, string>;
}
/** `seen`: the `etag` of what was read; where others have changed it since it is refused (412). */
export const updateModel = (name: string, details: Details, seen: string) =>
  answer(api.PATCH("/api/v1/models/{name}", { params: { ...of(name), header: { "If-Match": seen } }, body: details }));
export const updateVersion = (name: string, version: number, details: Details & { lineage?: LineageStated }, seen: string) =>
  answer(
    api.PATCH("/api/v1/models/{name}/versions/{version}", {
      params: { ...ofVersion(name, version), header: { "If-Match": seen } },
      body: details,
    }),
  );
export const archiveVersion = (name: string, version: number) =>
  answer(api.POST("/api/v1/models/{name}/versions/{version}/archive", { params: ofVersion(name, version) }));
export const restoreVersion = (name: string, version: number) =>
  answer(api.POST("/api/v1/models/{name}/versions/{version}/restore", { params: ofVersion(name, version) }));
/** Let the code in it run; `revision` is the newest edit that was looked at, what later ones name waits on. */
export const approveVersion = (name: string, version: number, revision?: number | null) =>
  answer(
    api.POST("/api/v1/models/{name}/versions/{version}/approve", {
      params: ofVersion(name, version),
      body: { config_revision: revision ?? null },
    }),
  );
export const newestRevision = (version: ModelVersion): number => Math.max(0, ...version.config_revisions.map((one) => one.number));
export const deleteVersion = (name: string, version: number, force: boolean) =>
  answer(
    api.DELETE("/api/v1/models/{name}/versions/{version}", {
      params: { ...ofVersion(name, version), query: force ? { force } : {} },
    }),
  );
const ofAlias = (name: string, alias: string) => ({ path: { name, alias } });
export const setAlias = (name: string, alias: string, version: number) =>
  answer(api.PUT("/api/v1/models/{name}/aliases/{alias}", { params: ofAlias(name, alias), body: { version: String(version) } }));
export const deleteAlias = (name: string, alias: string) =>
  answer(api.DELETE("/api/v1/models/{name}/aliases/{alias}", { params: ofAlias(name, alias) }));

export const usageQuery = (name: string, version: number) =>
  queryOptions({
    queryKey: [...keys.models.version(name, version), "usage"],
    queryFn: ({ signal }) =>
      everyPage((page) =>
        api.GET("/api/v1/models/{name}/versions/{version}/usage", {
          params: { ...ofVersion(name, version), query: page },
          signal,
        }),
      ),
  });

/** Who signed what revision `revision` would run; 0 stands for the files. */
export const signaturesQuery = (name: string, version: number, revision: number) =>
  queryOptions({
    queryKey: [...keys.models.version(name, version), "signatures", revision],
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/models/{name}/versions/{version}/signatures", {
          params: { ...ofVersion(name, version), query: { config_revision: revision } },
          signal,
        }),
      ),
  });

/** What the checks say about one configuration, and the text as JSON; revision 0 is the file. */
export const repoModelConfigQuery = (name: string, version: number, repoModel: string, revision = 0) =>
  queryOptions({
    queryKey: [...keys.models.version(name, version), "config", repoModel, revision],
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/models/{name}/versions/{version}/repo-models/{repo_model}/config", {
          params: { path: { name, version: String(version), repo_model: repoModel }, query: { revision } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The path keeps its slashes: the server takes the rest of the address as the file's path. */
export const filePath = (name: string, version: number, path: string): string =>
  `${apiPath("models", name, "versions", version, "files")}/${path.split("/").map(encodeURIComponent).join("/")}`;
export const downloadPath = (name: string, version: number, revision = 0): string =>
  `${apiPath("models", name, "versions", version, "archive.zip")}${revision ? `?revision=${revision}` : ""}`;

export const deleteModel = (name: string) => answer(api.DELETE("/api/v1/models/{name}", { params: of(name) }));

export const validateConfig = (body: ValidateRequest, signal?: AbortSignal) =>
  answer(api.POST("/api/v1/config/validate", { body, ...(signal ? { signal } : {}) }));
