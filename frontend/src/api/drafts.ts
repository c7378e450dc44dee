/** Deployments that are still being written, kept on the server for their owner. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, post, put } from "./client";
import { keys } from "./keys";
import type { components } from "./schema";
import type { Page } from "./types";

type Schemas = components["schemas"];
export type DraftSummary = Schemas["DraftSummary"];
/** `data` is the wizard's own; the server keeps it as it comes. */
export type StoredDraft = Omit<Schemas["Draft"], "data"> & { data: Record<string, unknown> };

export interface DraftBody {
  title: string;
  upload_id: string;
  data: object;
}

export const draftsQuery = () =>
  queryOptions({
    queryKey: keys.drafts.list,
    queryFn: ({ signal }) => get<Page<DraftSummary>>(apiPath("drafts"), { query: { limit: 20 }, signal }),
  });

export const draftQuery = (id: string) =>
  queryOptions({
    queryKey: keys.drafts.one(id),
    queryFn: ({ signal }) => get<StoredDraft>(apiPath("drafts", id), { signal }),
  });

// Whoever types and leaves at once has typed all the same.
const OUTLIVE = { outlive: true };

export const createDraft = (body: DraftBody) => post<StoredDraft>(apiPath("drafts"), body, OUTLIVE);
export const saveDraft = (id: string, body: DraftBody & { revision?: number }) =>
  put<StoredDraft>(apiPath("drafts", id), body, OUTLIVE);
export const deleteDraft = (id: string, keepUpload = false) =>
  del<unknown>(apiPath("drafts", id), keepUpload ? { keep_upload: true } : undefined, OUTLIVE);
