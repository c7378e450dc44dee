/** Where something would run, and what machines can be asked for. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, get, getAll, post } from "./client";
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
    queryFn: ({ signal }) => post<PlacementPreview>(apiPath("placement", "preview"), ask, { signal }),
    // Nodes fill up and fall silent while one looks.
    refetchInterval: 5_000,
  });

export const instanceTypesQuery = () =>
  queryOptions({
    queryKey: ["instance-types"] as const,
    queryFn: ({ signal }) => getAll<InstanceType>(apiPath("instance-types"), { signal }),
    staleTime: 30_000,
  });

export const startTryLoad = (body: TryLoadAsk) => post<TryLoad>(apiPath("try-loads"), body);
export const cancelTryLoad = (id: string) => post<TryLoad>(apiPath("try-loads", id, "cancel"));
const ENDED = new Set(["succeeded", "failed", "canceled"]);
export const isTried = (trial: TryLoad): boolean => ENDED.has(trial.state.toLowerCase());
export const tryLoadQuery = (id: string) =>
  queryOptions({
    queryKey: ["try-loads", id] as const,
    queryFn: ({ signal }) => get<TryLoad>(apiPath("try-loads", id), { signal }),
    refetchInterval: (query) => (query.state.data && isTried(query.state.data) ? false : 700),
  });
