/** Operations (long-running changes with stages), events and the overview. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { apiPath, get, post } from "./client";
import { keys } from "./keys";
import type { EventItem, Operation, Overview, Page } from "./types";

export const overviewQuery = () =>
  queryOptions({
    queryKey: keys.overview,
    queryFn: ({ signal }) => get<Overview>(apiPath("overview"), { signal }),
    refetchInterval: 10_000,
  });

export type OperationSearch = { state?: Operation["state"]; limit?: number };

/** The latest ones; what is older is in the activity. */
export const operationsQuery = (search: OperationSearch = {}) =>
  queryOptions({
    queryKey: keys.operations.list(search),
    queryFn: ({ signal }) => get<Page<Operation>>(apiPath("operations"), { query: search, signal }),
  });

export interface OperationFilter {
  q?: string;
  state?: Operation["state"];
  kind?: Operation["kind"];
  actor?: string;
  since?: string;
  until?: string;
}

const PAGE = 50;

/** All of them, newest first, page by page. */
export const operationPagesQuery = (filter: OperationFilter) =>
  infiniteQueryOptions({
    queryKey: keys.operations.pages({ ...filter }),
    queryFn: ({ pageParam, signal }) =>
      get<Page<Operation>>(apiPath("operations"), { query: { ...filter, cursor: pageParam, limit: PAGE }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.operations.one(id),
    queryFn: ({ signal }) => get<Operation>(apiPath("operations", id), { signal }),
  });

export const cancelOperation = (id: string) => post<Operation>(apiPath("operations", id, "cancel"));
export const retryOperation = (id: string) => post<Operation>(apiPath("operations", id, "retry"));

export const eventsQuery = (subject?: string, limit = 100) =>
  queryOptions({
    queryKey: [...keys.events(subject), limit],
    queryFn: ({ signal }) => get<Page<EventItem>>(apiPath("events"), { query: { subject, limit }, signal }),
  });

export const isFinished = (operation: Operation) =>
  operation.state === "Succeeded" || operation.state === "Failed" || operation.state === "Canceled";
