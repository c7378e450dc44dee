/** Operations (long-running changes with stages), events and the overview. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import type { operations } from "./schema";
import type { Operation } from "./types";

export const overviewQuery = () =>
  queryOptions({
    queryKey: keys.overview,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/overview", { signal })),
    refetchInterval: 10_000,
  });

/** What every page shows beside its navigation: three numbers, where the overview reads the whole fleet. */
export const countsQuery = () =>
  queryOptions({
    queryKey: keys.counts,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/overview/counts", { signal })),
    refetchInterval: 10_000,
  });

export type OperationSearch = { state?: Operation["state"]; limit?: number };

/** The latest ones; what is older is in the activity. */
export const operationsQuery = (search: OperationSearch = {}) =>
  queryOptions({
    queryKey: keys.operations.list(search),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/operations", { params: { query: search }, signal })),
  });

export type OperationFilter = Omit<NonNullable<operations["operations_list"]["parameters"]["query"]>, "cursor" | "limit">;

const PAGE = 50;

/** All of them, newest first, page by page. */
export const operationPagesQuery = (filter: OperationFilter) =>
  infiniteQueryOptions({
    queryKey: keys.operations.pages({ ...filter }),
    queryFn: ({ pageParam, signal }) =>
      answer(api.GET("/api/v1/operations", { params: { query: { ...filter, cursor: pageParam, limit: PAGE } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
  });

const of = (id: string) => ({ params: { path: { operation_id: id } } });

export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.operations.one(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/operations/{operation_id}", { ...of(id), signal })),
  });

export const cancelOperation = (id: string) => answer(api.POST("/api/v1/operations/{operation_id}/cancel", of(id)));
/** `skipGolden`: it answers requests without being asked its golden cases first. */
export const retryOperation = (id: string, { skipGolden = false } = {}) =>
  answer(
    api.POST("/api/v1/operations/{operation_id}/retry", {
      params: { path: { operation_id: id }, query: skipGolden ? { skip_golden: true } : {} },
    }),
  );

/** The newest that changed something: not who looked at keys or files. */
export const newsQuery = (subject: string, limit: number) =>
  queryOptions({
    queryKey: [...keys.events(subject), "news", limit],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/events", { params: { query: { subject, limit, looks: false } }, signal })),
  });

const EVENTS_PAGE = 100;
/** Who opens a link to an old event waits for fewer answers so. */
const EVENTS_PAGE_TO = 500;

/** All events of one thing, newest first, page by page; with `seq`, pages that are large enough to be there soon. */
export const eventPagesQuery = (subject: string, seq?: number) =>
  infiniteQueryOptions({
    queryKey: [...keys.events(subject), "pages", seq !== undefined],
    queryFn: ({ pageParam, signal }) =>
      answer(
        api.GET("/api/v1/events", {
          params: { query: { subject, cursor: pageParam, limit: seq === undefined ? EVENTS_PAGE : EVENTS_PAGE_TO } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

/** The newest, or those of a time: what was long ago is not among the newest. */
export const eventsQuery = (subject?: string, limit = 100, time: { since?: string; until?: string } = {}) =>
  queryOptions({
    queryKey: [...keys.events(subject), limit, time],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/events", { params: { query: { subject, limit, ...time } }, signal })),
  });

export const isFinished = (operation: Operation) =>
  operation.state === "Succeeded" || operation.state === "Failed" || operation.state === "Canceled";
