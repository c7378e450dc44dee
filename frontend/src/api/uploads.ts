/** Resumable uploads: the chunk transfer itself lives with the wizard, which shows its progress. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, post } from "./client";
import { keys } from "./keys";
import type { Upload } from "./types";

export const uploadQuery = (id: string) =>
  queryOptions({ queryKey: keys.uploads.one(id), queryFn: ({ signal }) => get<Upload>(apiPath("uploads", id), { signal }) });

export const createUpload = (body: { filename: string; size: number; sha256?: string }) =>
  post<Upload>(apiPath("uploads"), body);
export const completeUpload = (id: string, sha256?: string) =>
  post<Upload>(apiPath("uploads", id, "complete"), sha256 ? { sha256 } : {});
export const deleteUpload = (id: string) => del<unknown>(apiPath("uploads", id));
