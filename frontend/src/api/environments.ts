/** Lists of packages that scoring scripts run with, by name and version. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { operations } from "./schema";

type EnvironmentSearch = Pick<NonNullable<operations["environments_list"]["parameters"]["query"]>, "archived" | "project">;

/** The newest version of each. */
export const environmentsQuery = (search: EnvironmentSearch = {}) =>
  queryOptions({
    queryKey: keys.environments.list(search),
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/environments", { params: { query: { ...search, ...page } }, signal })),
  });

/** All of one, archived ones too, the newest first. */
export const environmentVersionsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.environments.versions(name),
    queryFn: ({ signal }) =>
      everyPage((page) =>
        api.GET("/api/v1/environments/{name}/versions", { params: { path: { name }, query: { archived: "all", ...page } }, signal }),
      ),
  });

const of = (name: string) => ({ path: { name } });
const ofVersion = (name: string, version: number) => ({ path: { name, version: String(version) } });

export const archiveEnvironment = (name: string) => answer(api.POST("/api/v1/environments/{name}/archive", { params: of(name) }));
export const restoreEnvironment = (name: string) => answer(api.POST("/api/v1/environments/{name}/restore", { params: of(name) }));
export const archiveEnvironmentVersion = (name: string, version: number) =>
  answer(api.POST("/api/v1/environments/{name}/versions/{version}/archive", { params: ofVersion(name, version) }));
export const restoreEnvironmentVersion = (name: string, version: number) =>
  answer(api.POST("/api/v1/environments/{name}/versions/{version}/restore", { params: ofVersion(name, version) }));
