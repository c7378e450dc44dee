/** Endpoints, deployments, traffic, keys, logs and snippets. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, getAll, patch, post, put } from "./client";
import { keys } from "./keys";
import type {
  Deployment,
  DeploymentCreate,
  DeploymentRevision,
  DeployRequest,
  Endpoint,
  EndpointKeys,
  EndpointLimits,
  EndpointToken,
  LogLine,
  MetricColumns,
  Operation,
  Snippets,
} from "./types";

export const endpointsQuery = () =>
  queryOptions({
    queryKey: keys.endpoints.list,
    queryFn: ({ signal }) => getAll<Endpoint>(apiPath("endpoints"), { signal }),
  });

/** The same list as the server has it now, whatever is held: for names that must be free. */
export const endpointsNowQuery = () => ({ ...endpointsQuery(), staleTime: 0, refetchOnMount: "always" as const });

export const endpointQuery = (name: string) =>
  queryOptions({
    queryKey: keys.endpoints.one(name),
    queryFn: ({ signal }) => get<Endpoint>(apiPath("endpoints", name), { signal }),
  });

export const snippetsQuery = (name: string) =>
  queryOptions({
    queryKey: keys.endpoints.snippets(name),
    queryFn: ({ signal }) => get<Snippets>(apiPath("endpoints", name, "snippets"), { signal }),
  });

export const createEndpoint = (body: { name: string; description?: string; auth_mode?: "key" | "aml_token" }) =>
  post<Endpoint>(apiPath("endpoints"), body);
export const updateEndpoint = (
  name: string,
  body: { description?: string; tags?: Record<string, string>; auth_mode?: Endpoint["auth_mode"] } & Partial<EndpointLimits>,
) =>
  patch<Endpoint>(apiPath("endpoints", name), body);
export const deleteEndpoint = (name: string) => del<Operation>(apiPath("endpoints", name));
export const setTraffic = (name: string, traffic: Record<string, number>) =>
  put<Endpoint>(apiPath("endpoints", name, "traffic"), { traffic });
/** One deployment gets copies of so many per cent of the requests; an empty map ends it. */
export const setMirror = (name: string, mirror: Record<string, number>) =>
  put<Endpoint>(apiPath("endpoints", name, "mirror"), { mirror_traffic: mirror });

export const listKeys = (name: string) => post<EndpointKeys>(apiPath("endpoints", name, "keys", "list"));
export const regenerateKey = (name: string, keyType: "primary" | "secondary") =>
  post<EndpointKeys>(apiPath("endpoints", name, "keys", "regenerate"), { key_type: keyType });

/** Opens an endpoint of the mode `aml_token` for 30 to 60 minutes. */
export const makeEndpointToken = (name: string) => post<EndpointToken>(apiPath("endpoints", name, "token"));
export const revokeEndpointTokens = (name: string) => post<void>(apiPath("endpoints", name, "token", "revoke"));

export const deploy = (body: DeployRequest) => post<Operation>(apiPath("deploy"), body);
export const createDeployment = (endpoint: string, body: DeploymentCreate) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments"), body);
export const getDeployment = (endpoint: string, name: string) =>
  get<Deployment>(apiPath("endpoints", endpoint, "deployments", name));
export const scaleDeployment = (endpoint: string, name: string, instanceCount: number) =>
  patch<Operation>(apiPath("endpoints", endpoint, "deployments", name), { instance_count: instanceCount });
export const deleteDeployment = (endpoint: string, name: string, force = false) =>
  del<Operation>(apiPath("endpoints", endpoint, "deployments", name), force ? { force: true } : undefined);

export const revisionsQuery = (endpoint: string, deployment: string) =>
  queryOptions({
    queryKey: [...keys.endpoints.one(endpoint), "revisions", deployment],
    queryFn: ({ signal }) =>
      get<{ items: DeploymentRevision[] }>(apiPath("endpoints", endpoint, "deployments", deployment, "revisions"), { signal }),
  });
export const rollBack = (endpoint: string, name: string, revision: number) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments", name, "rollback"), { revision });
export const rollDeployment = (endpoint: string, name: string, body: { model?: string; version?: string; config_revision?: number | null; max_queue_wait_ms?: number | null }) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments", name, "update"), body);
export const pauseDeployment = (endpoint: string, name: string, force = false) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments", name, "stop"), {}, force ? { query: { force: true } } : {});
export const startDeployment = (endpoint: string, name: string) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments", name, "start"));
/** Fresh replicas of the same, before those of now go. */
export const restartDeployment = (endpoint: string, name: string) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments", name, "restart"));
export const changeDeployment = (endpoint: string, name: string, body: { description?: string; request_timeout_ms?: number; retries?: boolean }) =>
  patch<Deployment>(apiPath("endpoints", endpoint, "deployments", name), body);
/** To the last revision before this one that came up. */
export const rollbackDeployment = (endpoint: string, name: string) =>
  post<Operation>(apiPath("endpoints", endpoint, "deployments", name, "rollback"), {});

export interface LogQuery {
  tail?: number;
  replica?: string;
  stream?: string;
  after?: number;
  before?: number;
}

export const readLogs = (endpoint: string, deployment: string, query: LogQuery, signal?: AbortSignal) =>
  get<{ lines: LogLine[] }>(apiPath("endpoints", endpoint, "deployments", deployment, "logs"), {
    query: { ...query },
    ...(signal ? { signal } : {}),
  });

export interface MetricsQuery {
  range?: number;
  from?: number;
  to?: number;
  node?: string;
  step?: number;
  metrics?: string;
  by?: "replica";
  deployment?: string;
}

/** Buckets of the past; a range of at most 15 minutes and nothing else gives the live series. */
export const readHistory = (endpoint: string, query: MetricsQuery, signal?: AbortSignal) =>
  get<MetricColumns>(apiPath("endpoints", endpoint, "metrics"), { query: { ...query }, ...(signal ? { signal } : {}) });

export const readMetrics = (endpoint: string, range: number, signal?: AbortSignal) =>
  get<MetricColumns>(apiPath("endpoints", endpoint, "metrics"), { query: { range }, ...(signal ? { signal } : {}) });
