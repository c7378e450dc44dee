/** Tunings of a deployment: a search for the configuration that serves its model best. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { untilEnded, whileUnderWay } from "./runs";
import type { TuningInput, TuningSetting } from "./types";

const LATEST = 50;

const of = (endpoint: string, deployment: string) => ({ path: { endpoint, deployment } });
const at = (id: string) => ({ params: { path: { tuning_id: id } } });

export const tuningsQuery = (endpoint: string, deployment: string) =>
  queryOptions({
    queryKey: keys.endpoints.tunings(endpoint, deployment),
    queryFn: async ({ signal }) => {
      const page = await answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/tunings", {
          params: { ...of(endpoint, deployment), query: { limit: LATEST } },
          signal,
        }),
      );
      return page.items;
    },
    refetchInterval: whileUnderWay,
  });

export const tuningQuery = (id: string) =>
  queryOptions({
    queryKey: keys.endpoints.tuning(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/tunings/{tuning_id}", { ...at(id), signal })),
    refetchInterval: untilEnded(),
  });

export const startTuning = (endpoint: string, deployment: string, body: TuningInput) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/tunings", { params: of(endpoint, deployment), body }));

export const cancelTuning = (id: string) => answer(api.POST("/api/v1/tunings/{tuning_id}/cancel", at(id)));

/** Without a setting, the chosen one. */
export const applyTuning = (id: string, setting?: TuningSetting) =>
  answer(api.POST("/api/v1/tunings/{tuning_id}/apply", { ...at(id), body: setting ? { setting } : {} }));
