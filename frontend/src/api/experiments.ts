/** How the arms of an endpoint's split compare. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";
import { sameThing } from "./same-thing";
import type { ExperimentAnswersInput } from "./types";

const REFRESH_MS = 15_000;

export const experimentQuery = (endpoint: string, query: { range: number; baseline?: string }) =>
  queryOptions({
    queryKey: keys.endpoints.experiment(endpoint, query),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/endpoints/{endpoint}/experiment", { params: { path: { endpoint }, query }, signal })),
    refetchInterval: REFRESH_MS,
    placeholderData: sameThing(keys.endpoints.experiment(endpoint, query)),
  });

/** Asks all arms the same inputs; up to half a minute. */
export const compareAnswers = (endpoint: string, body: Partial<ExperimentAnswersInput>) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/experiment/answers", { params: { path: { endpoint } }, body }));
