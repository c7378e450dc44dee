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
