/** Deployments that are still being written, kept on the server for their owner. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, outliving } from "./client";
import { keys } from "./keys";

export interface DraftBody {
  title: string;
  upload_id: string;
  /** The wizard's own; the server keeps it as it comes. */
  data: Record<string, unknown>;
}

const of = (id: string) => ({ path: { draft_id: id } });

export const draftsQuery = () =>
  queryOptions({
    queryKey: keys.drafts.list,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/drafts", { params: { query: { limit: 20 } }, signal })),
  });

export const draftQuery = (id: string) =>
  queryOptions({
    queryKey: keys.drafts.one(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/drafts/{draft_id}", { params: of(id), signal })),
  });

// Whoever types and leaves at once has typed all the same.
export const createDraft = (body: DraftBody) => outliving(body, (init) => answer(api.POST("/api/v1/drafts", { body, ...init })));
export const saveDraft = (id: string, body: DraftBody & { revision?: number }) =>
  outliving(body, (init) => answer(api.PUT("/api/v1/drafts/{draft_id}", { params: of(id), body, ...init })));
export const deleteDraft = (id: string, keepUpload = false) =>
  outliving(undefined, (init) =>
    answer(
      api.DELETE("/api/v1/drafts/{draft_id}", {
        params: { ...of(id), query: keepUpload ? { keep_upload: true } : {} },
        ...init,
      }),
    ),
  );
