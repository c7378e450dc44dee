/** Rollouts: an endpoint's traffic on its way to a candidate, step by step. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import type { Rollout, RolloutInput } from "./types";

/** How often its figures are new: gateways count twice a second while somebody looks. */
const REFETCH_MS = 1_000;

export const isUnderWay = (rollout: Rollout): boolean => rollout.state === "Running" || rollout.state === "Paused";

/** The latest of an endpoint, null where there has been none; read again and again while it is under way. */
export const latestRolloutQuery = (endpoint: string) =>
  queryOptions({
    queryKey: keys.endpoints.rollout(endpoint),
    queryFn: async ({ signal }) => {
      const params = { path: { endpoint }, query: { limit: 1 } };
      const page = await answer(api.GET("/api/v1/endpoints/{endpoint}/rollouts", { params, signal }));
      return page.items[0] ?? null;
    },
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? REFETCH_MS : false),
  });

/** `seen`: the `etag` of the endpoint whose traffic it takes; where others have changed it since, that is refused (412). */
export const startRollout = (endpoint: string, body: RolloutInput, seen: string) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/rollouts", { params: { path: { endpoint }, header: { "If-Match": seen } }, body }));

const of = (rollout: Rollout) => ({ params: { path: { endpoint: rollout.endpoint, rollout_id: rollout.id } } });

/** Inputs that the candidate answered otherwise. Deployers alone may read them; they are asked for again when there are more. */
export const rolloutDifferencesQuery = (rollout: Rollout) =>
  queryOptions({
    queryKey: [
      ...keys.endpoints.rolloutDifferences(rollout.endpoint, rollout.id),
      rollout.figures.find((one) => one.measure === "answers")?.bad ?? 0,
    ],
    queryFn: async ({ signal }) => {
      const found = await answer(api.GET("/api/v1/endpoints/{endpoint}/rollouts/{rollout_id}/differences", { ...of(rollout), signal }));
      return found.items;
    },
    placeholderData: keepPreviousData,
  });

export const pauseRollout = (rollout: Rollout) => answer(api.POST("/api/v1/endpoints/{endpoint}/rollouts/{rollout_id}/pause", of(rollout)));
export const resumeRollout = (rollout: Rollout) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/rollouts/{rollout_id}/resume", of(rollout)));
export const promoteRollout = (rollout: Rollout) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/rollouts/{rollout_id}/promote", of(rollout)));
export const abortRollout = (rollout: Rollout) => answer(api.POST("/api/v1/endpoints/{endpoint}/rollouts/{rollout_id}/abort", of(rollout)));
