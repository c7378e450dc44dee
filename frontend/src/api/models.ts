/** Models, their immutable versions, and the checks of config.pbtxt. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, post } from "./client";
import { keys } from "./keys";
import type { ConfigRevision, ConfigValidation, Model, ModelCreate, ModelVersion, Page, ValidateRequest } from "./types";

export type ModelSearch = { q?: string; limit?: number; cursor?: string };

export const modelsQuery = (search: ModelSearch = {}) =>
  queryOptions({
    queryKey: keys.models.list(search),
    queryFn: ({ signal }) => get<Page<Model>>(apiPath("models"), { query: search, signal }),
  });

export const modelQuery = (name: string) =>
  queryOptions({
    queryKey: keys.models.one(name),
    queryFn: ({ signal }) => get<Model>(apiPath("models", name), { signal }),
  });

export const modelVersionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.models.versions(name),
    queryFn: ({ signal }) => get<Page<ModelVersion>>(apiPath("models", name, "versions"), { signal }),
  });

export const modelVersionQuery = (name: string, version: number | "latest") =>
  queryOptions({
    queryKey: keys.models.version(name, version),
    queryFn: ({ signal }) => get<ModelVersion>(apiPath("models", name, "versions", version), { signal }),
  });

export const createModel = (body: ModelCreate) => post<ModelVersion>(apiPath("models"), body);
/** Edited texts over a version; the same texts again are the same revision. */
export const createConfigRevision = (name: string, version: number, configs: Record<string, string>, message = "") =>
  post<ConfigRevision>(apiPath("models", name, "versions", version, "config-revisions"), { configs, message });
export const archiveModel = (name: string) => post<Model>(apiPath("models", name, "archive"));
export const restoreModel = (name: string) => post<Model>(apiPath("models", name, "restore"));
export const deleteModel = (name: string) => del<unknown>(apiPath("models", name));

export const validateConfig = (body: ValidateRequest, signal?: AbortSignal) =>
  post<ConfigValidation>(apiPath("config", "validate"), body, signal ? { signal } : {});
export const renderConfig = (config: Record<string, unknown>) =>
  post<{ text: string }>(apiPath("config", "render"), { config });
