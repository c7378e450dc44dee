/** Nodes and the single-use tokens with which new ones join. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, getAll, patch, post } from "./client";
import { keys } from "./keys";
import type { CachedBlob, DrainMove, JoinToken, JoinTokenMade, MetricColumns, NodeItem, Page } from "./types";

export const nodesQuery = () =>
  queryOptions({
    queryKey: keys.nodes.list,
    queryFn: ({ signal }) => getAll<NodeItem>(apiPath("nodes"), { signal }),
    refetchInterval: 5_000,
  });

export const nodeQuery = (name: string) =>
  queryOptions({
    queryKey: keys.nodes.one(name),
    queryFn: ({ signal }) => get<NodeItem>(apiPath("nodes", name), { signal }),
    refetchInterval: 5_000,
  });

/** What lies in its cache; `q` is the beginning of a checksum. */
export const cacheQuery = (name: string, q: string) =>
  infiniteQueryOptions({
    queryKey: keys.nodes.cache(name, q),
    queryFn: ({ pageParam, signal }) =>
      get<Page<CachedBlob>>(apiPath("nodes", name, "cache"), { query: { q, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

const GPU_GAUGES = ["util", "memory", "temperature", "power"] as const;
const GPU_RANGE_S = 900;

/** The last quarter of an hour of its GPUs. */
export const gpuCourseQuery = (name: string, gpus: readonly number[]) =>
  queryOptions({
    queryKey: keys.nodes.gpus(name),
    enabled: gpus.length > 0,
    refetchInterval: 5_000,
    // The figures stand without their past.
    retry: false,
    queryFn: ({ signal }) =>
      get<MetricColumns>(apiPath("metrics", "query"), {
        query: { by: "node", ids: name, metrics: gpus.flatMap((gpu) => GPU_GAUGES.map((gauge) => `gpu${gpu}_${gauge}`)).join(","), range: GPU_RANGE_S },
        signal,
      }),
  });

export const cordonNode = (name: string) => post<NodeItem>(apiPath("nodes", name, "cordon"));
export const uncordonNode = (name: string) => post<NodeItem>(apiPath("nodes", name, "uncordon"));
export const setLabels = (name: string, labels: Record<string, string>) =>
  patch<NodeItem>(apiPath("nodes", name), { labels });
export const deleteNode = (name: string, force = false) => del<unknown>(apiPath("nodes", name), force ? { force: true } : undefined);

export interface DrainRequest {
  dry_run?: boolean;
  /** Even if something has nowhere to go. */
  force?: boolean;
  deadline_s?: number;
}
interface Drained {
  dry_run: boolean;
  moves: DrainMove[];
}
/** Several are emptied together: what leaves one of them does not go to another. */
export const drainNodes = (names: readonly string[], body: DrainRequest) => {
  const [only, ...more] = names;
  if (only !== undefined && more.length === 0) return post<Drained>(apiPath("nodes", only, "drain"), body);
  return post<Drained>(apiPath("drains"), { ...body, nodes: names });
};

/** What draining would do, asked anew each time somebody thinks of it. */
export const drainPreviewQuery = (names: readonly string[]) =>
  queryOptions({
    queryKey: keys.nodes.drain(names),
    queryFn: () => drainNodes(names, { dry_run: true }),
    staleTime: 0,
    gcTime: 0,
  });

export const createJoinToken = () => post<JoinTokenMade>(apiPath("join-tokens"));
export const joinTokenQuery = (id: number) =>
  queryOptions({
    queryKey: keys.joinToken(id),
    queryFn: ({ signal }) => get<JoinToken>(apiPath("join-tokens", id), { signal }),
    refetchInterval: (query) => (query.state.data?.node ? false : 1_500),
  });
