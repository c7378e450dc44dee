/** Where something would run, and what machines can be asked for. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { SEVERAL_PAGES_MS } from "./nodes";
import { untilEnded } from "./runs";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type PlacementPreview = Schemas["PlacementPreview"];
export type PlacementAsk = Schemas["PlacementPreviewInputRequest"];
export type NodeVerdict = Schemas["Verdict"];
export type InstanceType = Schemas["InstanceType"];
export type TryLoad = Schemas["TryLoad"];
export type TryLoadAsk = Schemas["TryLoadInputRequest"];

const PAGE = 20;

/** The best nodes first, page by page, each with what the nodes of its page have. */
export const placementPagesQuery = (ask: PlacementAsk) =>
  infiniteQueryOptions({
    queryKey: ["placement", ask] as const,
    queryFn: async ({ pageParam, signal }) => {
      const body = { ...ask, cursor: pageParam, limit: PAGE };
      const preview = await answer(api.POST("/api/v1/placement/preview", { body, signal }));
      const names = preview.items.map((one) => one.node).join(",");
      if (!names) return { preview, nodes: [] };
      const { items } = await answer(api.GET("/api/v1/nodes", { params: { query: { names, limit: PAGE } }, signal }));
      return { preview, nodes: items };
    },
    initialPageParam: "",
    getNextPageParam: ({ preview }) => preview.next_cursor,
    placeholderData: keepPreviousData,
    // Nodes fill up and fall silent while one looks.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? SEVERAL_PAGES_MS : 5_000),
  });

export const instanceTypesQuery = () =>
  queryOptions({
    queryKey: ["instance-types"] as const,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/instance-types", { params: { query: page }, signal })),
    staleTime: 30_000,
  });

const of = (id: string) => ({ params: { path: { try_load_id: id } } });
export const startTryLoad = (body: TryLoadAsk) => answer(api.POST("/api/v1/try-loads", { body }));
export const cancelTryLoad = (id: string) => answer(api.POST("/api/v1/try-loads/{try_load_id}/cancel", of(id)));
export const tryLoadQuery = (id: string) =>
  queryOptions({
    queryKey: ["try-loads", id] as const,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/try-loads/{try_load_id}", { ...of(id), signal })),
    refetchInterval: untilEnded(700),
  });
