/** Where something would run, and what machines can be asked for. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { untilEnded } from "./runs";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type PlacementPreview = Schemas["PlacementPreview"];
export type PlacementAsk = Schemas["PlacementPreviewInputRequest"];
export type NodeVerdict = Schemas["Verdict"];
export type InstanceType = Schemas["InstanceType"];
export type TryLoad = Schemas["TryLoad"];
export type TryLoadAsk = Schemas["TryLoadInputRequest"];

export const placementPreviewQuery = (ask: PlacementAsk) =>
  queryOptions({
    queryKey: ["placement", ask] as const,
    queryFn: ({ signal }) => answer(api.POST("/api/v1/placement/preview", { body: ask, signal })),
    // Nodes fill up and fall silent while one looks.
    refetchInterval: 5_000,
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
