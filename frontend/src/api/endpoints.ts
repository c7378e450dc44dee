/** Endpoints, deployments, traffic, keys, logs and snippets. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { components, operations } from "./schema";
import { sameThing } from "./same-thing";
import type { DeployRequest, PolicyRequest, TrafficChange } from "./types";

type Schemas = components["schemas"];

const of = (endpoint: string) => ({ path: { endpoint } });
const ofDeployment = (endpoint: string, deployment: string) => ({ path: { endpoint, deployment } });
/** `seen`: the `etag` of what is changed, as it was read; where others have changed it since, that is refused (412). */
const asSeen = (seen: string) => ({ header: { "If-Match": seen } });
const WATCH_POLL_MS = 2_000;
const forced = (force: boolean) => ({ query: force ? { force } : {} });

/** Of the list: as many as one looks through, and as travel anew each few seconds. */
const PAGE = 50;
const ONE_PAGE_MS = 5_000;
/** Who has asked for more pages waits longer for them to be read again. */
const SEVERAL_PAGES_MS = 30_000;

/** What people look for, and the states that it is, as the server takes them. */
export const SERVINGS = ["healthy", "trouble", "deploying", "resting"] as const;
export type Serving = (typeof SERVINGS)[number];
const SERVING: Record<Serving, string> = {
  healthy: "Healthy",
  trouble: "Degraded,Unavailable",
  deploying: "Deploying",
  resting: "Idle,Stopped",
};

/** The list by name with the figures of the last seconds, chosen by the server, page by page. */
export const endpointPagesQuery = (q: string, serving: Serving | undefined, project: string) =>
  infiniteQueryOptions({
    queryKey: keys.endpoints.pages(q, serving ?? "", project),
    queryFn: ({ pageParam, signal }) =>
      answer(
        api.GET("/api/v1/endpoints", {
          params: {
            query: { q, project, cursor: pageParam, limit: PAGE, live: true, ...(serving ? { serving_state: SERVING[serving] } : {}) },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? SEVERAL_PAGES_MS : ONE_PAGE_MS),
  });

/** All of them, for who has to name or to choose one. */
export const endpointsQuery = () =>
  queryOptions({
    queryKey: keys.endpoints.list,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/endpoints", { params: { query: page }, signal })),
  });

/** The same list as the server has it now, whatever is held: for names that must be free. */
export const endpointsNowQuery = () => ({ ...endpointsQuery(), staleTime: 0, refetchOnMount: "always" as const });

export const endpointQuery = (name: string) =>
  queryOptions({
    queryKey: keys.endpoints.one(name),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/endpoints/{endpoint}", { params: of(name), signal })),
  });

export const snippetsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.endpoints.snippets(name),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/endpoints/{endpoint}/snippets", { params: of(name), signal })),
  });

export const createEndpoint = (body: Schemas["EndpointInputRequest"]) => answer(api.POST("/api/v1/endpoints", { body }));
export const updateEndpoint = (name: string, body: Schemas["PatchedEndpointPatchRequest"], seen: string) =>
  answer(api.PATCH("/api/v1/endpoints/{endpoint}", { params: { ...of(name), ...asSeen(seen) }, body }));
export const deleteEndpoint = (name: string) => answer(api.DELETE("/api/v1/endpoints/{endpoint}", { params: of(name) }));
export const setTraffic = (name: string, traffic: Record<string, number>, seen: string) =>
  answer(api.PUT("/api/v1/endpoints/{endpoint}/traffic", { params: { ...of(name), ...asSeen(seen) }, body: { traffic } }));
/** Takes the last change of the traffic back, as the server says how. */
export const undoTraffic = (name: string, back: NonNullable<TrafficChange["undo"]>, seen: string) => updateEndpoint(name, back, seen);
/** How those do who got more; asked again while it is watched, and once when that is over. */
export const trafficWatchQuery = (name: string, { changed_at, state }: TrafficChange) =>
  queryOptions({
    queryKey: [...keys.endpoints.trafficWatch(name, changed_at), state],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/endpoints/{endpoint}/traffic/watch", { params: of(name), signal })),
    refetchInterval: state === "watching" || state === "routing" ? WATCH_POLL_MS : false,
    placeholderData: sameThing(keys.endpoints.trafficWatch(name, changed_at)),
  });
/** Rules by header and what clients are told apart by. */
export const setRouting = (name: string, body: Pick<Schemas["TrafficInputRequest"], "traffic_rules" | "sticky">, seen: string) =>
  answer(api.PUT("/api/v1/endpoints/{endpoint}/traffic", { params: { ...of(name), ...asSeen(seen) }, body }));
/** One deployment gets copies of so many per cent of the requests; an empty map ends it. */
export const setMirror = (name: string, mirror: Record<string, number>, seen: string) =>
  answer(api.PUT("/api/v1/endpoints/{endpoint}/mirror", { params: { ...of(name), ...asSeen(seen) }, body: { mirror_traffic: mirror } }));

export const listKeys = (name: string) => answer(api.POST("/api/v1/endpoints/{endpoint}/keys/list", { params: of(name) }));
export const regenerateKey = (name: string, keyType: "primary" | "secondary") =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/keys/regenerate", { params: of(name), body: { key_type: keyType } }));

/** Opens an endpoint of the mode `aml_token` for 30 to 60 minutes. */
export const makeEndpointToken = (name: string) => answer(api.POST("/api/v1/endpoints/{endpoint}/token", { params: of(name) }));
export const revokeEndpointTokens = (name: string) => answer(api.POST("/api/v1/endpoints/{endpoint}/token/revoke", { params: of(name) }));

export const deploy = (body: DeployRequest) => answer(api.POST("/api/v1/deploy", { body }));
export const getDeployment = (endpoint: string, name: string) =>
  answer(api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}", { params: ofDeployment(endpoint, name) }));
export const deleteDeployment = (endpoint: string, name: string, force = false) =>
  answer(
    api.DELETE("/api/v1/endpoints/{endpoint}/deployments/{deployment}", {
      params: { ...ofDeployment(endpoint, name), ...forced(force) },
    }),
  );
/** Answers the deployment, or the operation where replicas come or go. */
export const changeDeployment = (endpoint: string, name: string, body: Schemas["PatchedDeploymentPatchRequest"], seen: string) =>
  answer(
    api.PATCH("/api/v1/endpoints/{endpoint}/deployments/{deployment}", {
      params: { ...ofDeployment(endpoint, name), ...asSeen(seen) },
      body,
    }),
  );

/** What a policy would have done with the last day. */
export const previewAutoscaling = (endpoint: string, name: string, autoscale: PolicyRequest) =>
  answer(
    api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/autoscale/preview", {
      params: ofDeployment(endpoint, name),
      body: { autoscale, hours: 24 },
    }),
  );

export const revisionsQuery = (endpoint: string, deployment: string) =>
  queryOptions({
    queryKey: [...keys.endpoints.one(endpoint), "revisions", deployment],
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/revisions", {
          params: ofDeployment(endpoint, deployment),
          signal,
        }),
      ),
  });
/** Without a number: to the last revision before this one that came up. */
export const rollBack = (endpoint: string, name: string, revision?: number) =>
  answer(
    api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/rollback", {
      params: ofDeployment(endpoint, name),
      body: revision === undefined ? {} : { revision },
    }),
  );
export const pauseDeployment = (endpoint: string, name: string, force = false) =>
  answer(
    api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/stop", {
      params: { ...ofDeployment(endpoint, name), ...forced(force) },
    }),
  );
export const startDeployment = (endpoint: string, name: string) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/start", { params: ofDeployment(endpoint, name) }));
/** Fresh replicas of the same, before those of now go. */
export const restartDeployment = (endpoint: string, name: string) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/restart", { params: ofDeployment(endpoint, name) }));

export type LogQuery = NonNullable<operations["deployments_logs"]["parameters"]["query"]>;

export const readLogs = (endpoint: string, deployment: string, query: LogQuery, signal?: AbortSignal) =>
  answer(
    api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/logs", {
      params: { ...ofDeployment(endpoint, deployment), query },
      ...(signal ? { signal } : {}),
    }),
  );

export type MetricsQuery = NonNullable<operations["endpoints_metrics"]["parameters"]["query"]>;

/** Buckets of the past; a range of at most 15 minutes and nothing else gives the live series. */
export const readMetrics = (endpoint: string, query: MetricsQuery, signal?: AbortSignal) =>
  answer(api.GET("/api/v1/endpoints/{endpoint}/metrics", { params: { ...of(endpoint), query }, ...(signal ? { signal } : {}) }));
