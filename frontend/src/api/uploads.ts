/** Resumable uploads: the chunk transfer itself lives with the wizard, which shows its progress. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";

const of = (id: string) => ({ params: { path: { upload_id: id } } });

export const uploadQuery = (id: string) =>
  queryOptions({
    queryKey: keys.uploads.one(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/uploads/{upload_id}", { ...of(id), signal })),
  });

/** Has the server fetch a model: what it answers is an upload, whose bytes come by themselves. */
export const createImport = (address: string, project: string) =>
  answer(api.POST("/api/v1/imports", { body: { address, ...(project ? { project } : {}) } }));

export const deleteUpload = (id: string) => answer(api.DELETE("/api/v1/uploads/{upload_id}", of(id)));
