/** Nodes and the single-use tokens with which new ones join. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import { readSeries } from "./metrics";
import type { components, operations } from "./schema";

const of = (name: string) => ({ path: { node: name } });

/** Of the list: as many as one looks through, and as travel anew each few seconds. */
const PAGE = 100;
/** Who has asked for more pages waits longer for them to be read again. */
export const SEVERAL_PAGES_MS = 30_000;

type NodeStatus = NonNullable<NonNullable<operations["nodes_list"]["parameters"]["query"]>["status"]>;
/** Closed: cordoned or draining. Lost: suspect or offline. */
export const NODE_STATUSES: readonly NodeStatus[] = ["online", "closed", "lost"];

/** The list by name, chosen by the server, page by page. */
export const nodePagesQuery = (q: string, status: NodeStatus | undefined) =>
  infiniteQueryOptions({
    queryKey: keys.nodes.pages(q, status ?? ""),
    queryFn: ({ pageParam, signal }) =>
      answer(api.GET("/api/v1/nodes", { params: { query: { q, cursor: pageParam, limit: PAGE, ...(status ? { status } : {}) } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? SEVERAL_PAGES_MS : 5_000),
  });

/** All of them, for who has to name or weigh each: rarely where there are many. */
export const nodesQuery = () =>
  queryOptions({
    queryKey: keys.nodes.list,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/nodes", { params: { query: page }, signal })),
    refetchInterval: ({ state }) => ((state.data?.items.length ?? 0) > PAGE ? 30_000 : 5_000),
  });

export const nodeQuery = (name: string) =>
  queryOptions({
    queryKey: keys.nodes.one(name),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/nodes/{node}", { params: of(name), signal })),
    refetchInterval: 5_000,
  });

/** What lies in its cache; `q` is the beginning of a checksum. */
export const cacheQuery = (name: string, q: string) =>
  infiniteQueryOptions({
    queryKey: keys.nodes.cache(name, q),
    queryFn: ({ pageParam, signal }) =>
      answer(api.GET("/api/v1/nodes/{node}/cache", { params: { ...of(name), query: { q, cursor: pageParam, limit: 100 } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
  });

const GPU_RANGE_S = 900;

/** The last quarter of an hour of these series of its GPUs. */
export const gpuCourseQuery = (name: string, metrics: readonly string[]) =>
  queryOptions({
    queryKey: keys.nodes.gpus(name),
    enabled: metrics.length > 0,
    refetchInterval: 5_000,
    // The figures stand without their past.
    retry: false,
    queryFn: ({ signal }) => readSeries({ by: "node", ids: name, metrics: metrics.join(","), range: GPU_RANGE_S }, signal),
  });

export const cordonNode = (name: string) => answer(api.POST("/api/v1/nodes/{node}/cordon", { params: of(name) }));
export const uncordonNode = (name: string) => answer(api.POST("/api/v1/nodes/{node}/uncordon", { params: of(name) }));
export const setLabels = (name: string, labels: Record<string, string>) =>
  answer(api.PATCH("/api/v1/nodes/{node}", { params: of(name), body: { labels } }));
export const deleteNode = (name: string, force = false) =>
  answer(api.DELETE("/api/v1/nodes/{node}", { params: { ...of(name), query: force ? { force } : {} } }));

export type DrainRequest = components["schemas"]["DrainInputRequest"];
/** Several are emptied together: what leaves one of them does not go to another. */
export const drainNodes = (names: readonly string[], body: DrainRequest) => {
  const [only, ...more] = names;
  if (only !== undefined && more.length === 0) return answer(api.POST("/api/v1/nodes/{node}/drain", { params: of(only), body }));
  return answer(api.POST("/api/v1/drains", { body: { ...body, nodes: [...names] } }));
};

/** What draining would do, asked anew each time somebody thinks of it. */
export const drainPreviewQuery = (names: readonly string[]) =>
  queryOptions({
    queryKey: keys.nodes.drain(names),
    queryFn: () => drainNodes(names, { dry_run: true }),
    staleTime: 0,
    gcTime: 0,
  });

export const createJoinToken = () => answer(api.POST("/api/v1/join-tokens"));
export const joinTokenQuery = (id: number) =>
  queryOptions({
    queryKey: keys.joinToken(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/join-tokens/{token_id}", { params: { path: { token_id: id } }, signal })),
    refetchInterval: (query) => (query.state.data?.node ? false : 1_500),
  });
