/** Nodes and the single-use tokens with which new ones join. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, post } from "./client";
import { keys } from "./keys";
import type { JoinToken, NodeItem, Page } from "./types";

export const nodesQuery = () =>
  queryOptions({
    queryKey: keys.nodes.list,
    queryFn: ({ signal }) => get<Page<NodeItem>>(apiPath("nodes"), { signal }),
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
export const deleteNode = (name: string) => del<unknown>(apiPath("nodes", name));
export const createJoinToken = () => post<JoinToken>(apiPath("join-tokens"));
