/** Single requests of an endpoint: failed ones, slow ones, and a few of all. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { sameThing } from "./same-thing";
import type { operations } from "./schema";

export type RequestsSearch = NonNullable<operations["endpoints_requests"]["parameters"]["query"]>;

/** Gateways tell of them every two seconds. */
const REFETCH_MS = 5_000;

export const requestsQuery = (endpoint: string, query: RequestsSearch) =>
  queryOptions({
    queryKey: keys.endpoints.requests(endpoint, query),
    queryFn: async ({ signal }) => {
      const page = await answer(api.GET("/api/v1/endpoints/{endpoint}/requests", { params: { path: { endpoint }, query }, signal }));
      return page.items;
    },
    refetchInterval: REFETCH_MS,
    placeholderData: sameThing(keys.endpoints.requests(endpoint, query)),
  });

/** All that is kept of requests with exactly this id. What replicas keep comes some seconds after what gateways tell. */
export const requestQuery = (endpoint: string, id: string) =>
  queryOptions({
    queryKey: keys.endpoints.request(endpoint, id),
    queryFn: async ({ signal }) => {
      const params = { path: { endpoint, request_id: id } };
      const found = await answer(api.GET("/api/v1/endpoints/{endpoint}/requests/{request_id}", { params, signal }));
      return found.items;
    },
    refetchInterval: (query) => (query.state.data?.some((story) => story.trace === null && story.seen?.host) ? REFETCH_MS : false),
  });
