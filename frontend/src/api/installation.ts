/** What belongs to the installation as a whole: its store of files, the kinds of machine that deployments ask for. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, getAll, patch, post } from "./client";
import { keys } from "./keys";
import type { InstanceType, InstanceTypeInput, StorageUse } from "./types";

export const storageQuery = () =>
  queryOptions({ queryKey: keys.storage, queryFn: ({ signal }) => get<StorageUse>(apiPath("storage"), { signal }) });
export const collectStorage = () => post<{ removed: number }>(apiPath("storage", "collect"));

export const instanceTypesQuery = () =>
  queryOptions({
    queryKey: keys.instanceTypes,
    queryFn: ({ signal }) => getAll<InstanceType>(apiPath("instance-types"), { signal }),
  });
export const createInstanceType = (body: InstanceTypeInput) => post<InstanceType>(apiPath("instance-types"), body);
export const updateInstanceType = (name: string, change: Partial<InstanceTypeInput>) =>
  patch<InstanceType>(apiPath("instance-types", name), change);
export const deleteInstanceType = (name: string) => del<unknown>(apiPath("instance-types", name));
