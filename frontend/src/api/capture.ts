/** Captured requests of a deployment, statistics of them, and the baseline that they are compared with. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { sameThing } from "./same-thing";
import { apiPath } from "./paths";

/** Statistics are made every few seconds of what came. */
const REFETCH_MS = 15_000;
/** Many hours take the control plane a while, and change little. */
const SLOWLY_MS = 120_000;
const QUICK_HOURS = 24;
const FILES = 100;

const of = (endpoint: string, deployment: string) => ({ path: { endpoint, deployment } });

/** Without hours: of as many as are held against the baseline. */
export const statisticsQuery = (endpoint: string, deployment: string, hours: number | undefined) =>
  queryOptions({
    queryKey: keys.endpoints.data(endpoint, deployment, hours),
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/data", {
          params: { ...of(endpoint, deployment), query: { hours } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => ((hours ?? state.data?.hours ?? QUICK_HOURS) > QUICK_HOURS ? SLOWLY_MS : REFETCH_MS),
    placeholderData: sameThing(keys.endpoints.data(endpoint, deployment, hours)),
  });

export const capturedFilesQuery = (endpoint: string, deployment: string) =>
  queryOptions({
    queryKey: keys.endpoints.captured(endpoint, deployment),
    queryFn: async ({ signal }) => {
      const page = await answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/captured", {
          params: { ...of(endpoint, deployment), query: { limit: FILES } },
          signal,
        }),
      );
      return page.items;
    },
    refetchInterval: REFETCH_MS,
  });

/** What a client sent with this x-request-id, about then. That it was read is an event. */
export const capturedRequestQuery = (endpoint: string, deployment: string, id: string, at: number) =>
  queryOptions({
    queryKey: keys.endpoints.capturedRequest(endpoint, deployment, id, at),
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/captured-requests/{request_id}", {
          params: { path: { endpoint, deployment, request_id: id }, query: { at } },
          signal,
        }),
      ),
    retry: false,
    staleTime: Infinity,
  });

export const capturedFilePath = (endpoint: string, deployment: string, id: string): string =>
  apiPath("endpoints", endpoint, "deployments", deployment, "captured", id);

const BASELINE = "/api/v1/endpoints/{endpoint}/deployments/{deployment}/data/baseline";

/** `seen`: the baseline's `etag` as it was read, if there was one; where others have changed it since, that is refused (412). */
const asSeen = (endpoint: string, deployment: string, seen: string | undefined) => ({
  ...of(endpoint, deployment),
  ...(seen === undefined ? {} : { header: { "If-Match": seen } }),
});

export const setBaseline = (endpoint: string, deployment: string, hours: number, windowHours: number, seen: string | undefined) =>
  answer(
    api.PUT(BASELINE, {
      params: asSeen(endpoint, deployment, seen),
      body: { begin: new Date(Date.now() - hours * 3_600_000).toISOString(), window_hours: windowHours },
    }),
  );

export const setBaselineWindow = (endpoint: string, deployment: string, windowHours: number, seen: string | undefined) =>
  answer(api.PATCH(BASELINE, { params: asSeen(endpoint, deployment, seen), body: { window_hours: windowHours } }));

export const deleteBaseline = (endpoint: string, deployment: string, seen: string | undefined) =>
  answer(api.DELETE(BASELINE, { params: asSeen(endpoint, deployment, seen) }));

export const uploadBaseline = (endpoint: string, deployment: string, file: File, windowHours: number, seen: string | undefined) =>
  answer(
    api.PUT("/api/v1/endpoints/{endpoint}/deployments/{deployment}/data/baseline/file", {
      params: { ...asSeen(endpoint, deployment, seen), query: { window_hours: windowHours } },
      body: "",
      bodySerializer: () => file,
      headers: { "Content-Type": "application/x-ndjson" },
    }),
  );
