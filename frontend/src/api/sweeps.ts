/** Load sweeps of a deployment: how a replica does under more and more load. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { apiPath } from "./paths";
import { untilEnded, whileUnderWay } from "./runs";
import type { LoadSweepInput } from "./types";

const LATEST = 50;

const of = (endpoint: string, deployment: string) => ({ path: { endpoint, deployment } });
const at = (id: string) => ({ params: { path: { sweep_id: id } } });

export const sweepsQuery = (endpoint: string, deployment: string) =>
  queryOptions({
    queryKey: keys.endpoints.sweeps(endpoint, deployment),
    queryFn: async ({ signal }) => {
      const page = await answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/sweeps", {
          params: { ...of(endpoint, deployment), query: { limit: LATEST } },
          signal,
        }),
      );
      return page.items;
    },
    refetchInterval: whileUnderWay,
  });

export const sweepQuery = (id: string) =>
  queryOptions({
    queryKey: keys.endpoints.sweep(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/sweeps/{sweep_id}", { ...at(id), signal })),
    refetchInterval: untilEnded(),
  });

export const startSweep = (endpoint: string, deployment: string, body: LoadSweepInput) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/deployments/{deployment}/sweeps", { params: of(endpoint, deployment), body }));

export const cancelSweep = (id: string) => answer(api.POST("/api/v1/sweeps/{sweep_id}/cancel", at(id)));

export const sweepCsvPath = (id: string): string => apiPath("sweeps", id, "csv");
