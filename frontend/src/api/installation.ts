/** What belongs to the installation as a whole: its store of files, the kinds of machine that deployments ask for. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { InstanceTypeInput } from "./types";

export const storageQuery = () =>
  queryOptions({ queryKey: keys.storage, queryFn: ({ signal }) => answer(api.GET("/api/v1/storage", { signal })) });
export const collectStorage = () => answer(api.POST("/api/v1/storage/collect"));

export const instanceTypesQuery = () =>
  queryOptions({
    queryKey: keys.instanceTypes,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/instance-types", { params: { query: page }, signal })),
  });
export const createInstanceType = (body: InstanceTypeInput) => answer(api.POST("/api/v1/instance-types", { body }));
export const updateInstanceType = (name: string, body: Partial<InstanceTypeInput>) =>
  answer(api.PATCH("/api/v1/instance-types/{name}", { params: { path: { name } }, body }));
export const deleteInstanceType = (name: string) => answer(api.DELETE("/api/v1/instance-types/{name}", { params: { path: { name } } }));
