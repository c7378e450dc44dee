/** What runs where, what is idle, what it costs, and what a lost node would do. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import type { Prices } from "./types";

const PAGE = 50;
/** Reports of nodes come every few seconds; a fleet is not looked at that closely. */
const EVERY_MS = 30_000;

export const capacityQuery = () =>
  queryOptions({
    queryKey: keys.capacity.glance,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/capacity", { signal })),
    refetchInterval: EVERY_MS,
  });

/** The idlest first, page by page. */
export const capacityNodesQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: keys.capacity.nodes(q),
    queryFn: ({ pageParam, signal }) =>
      answer(api.GET("/api/v1/capacity/nodes", { params: { query: { q, cursor: pageParam, limit: PAGE } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

export const capacityDeploymentsQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: keys.capacity.deployments(q),
    queryFn: ({ pageParam, signal }) =>
      answer(api.GET("/api/v1/capacity/deployments", { params: { query: { q, cursor: pageParam, limit: PAGE } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

export const wasteQuery = () =>
  queryOptions({
    queryKey: keys.capacity.waste,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/capacity/waste", { signal })),
  });

export const whatIfQuery = (lost: readonly string[]) =>
  queryOptions({
    queryKey: keys.capacity.whatIf(lost),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/capacity/what-if", { params: { query: { lost: [...lost] } }, signal })),
    enabled: lost.length > 0,
  });

export const readRoom = (endpoint: string, deployment: string) =>
  answer(api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/room", { params: { path: { endpoint, deployment } } }));

export const pricesQuery = () =>
  queryOptions({ queryKey: keys.prices, queryFn: ({ signal }) => answer(api.GET("/api/v1/prices", { signal })) });

export const setPrices = (body: Prices) => answer(api.PUT("/api/v1/prices", { body }));
