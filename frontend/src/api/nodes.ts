/** Nodes and the single-use tokens with which new ones join. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, getAll, patch, post } from "./client";
import { keys } from "./keys";
import type { DrainMove, JoinToken, JoinTokenMade, NodeItem } from "./types";

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
