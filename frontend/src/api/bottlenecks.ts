/** Why an endpoint is slow: where a mean request's time goes, and the likeliest causes; what each step of a pipeline is doing. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "./client";
import { keys } from "./keys";

export const readBottlenecks = (endpoint: string, deployment: string | undefined) =>
  answer(api.GET("/api/v1/endpoints/{endpoint}/bottlenecks", { params: { path: { endpoint }, query: deployment ? { deployment } : {} } }));

export const pipelineQuery = (endpoint: string, deployment: string) =>
  queryOptions({
    queryKey: keys.endpoints.pipeline(endpoint, deployment),
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/endpoints/{endpoint}/deployments/{deployment}/pipeline", {
          params: { path: { endpoint, deployment } },
          signal,
        }),
      ),
  });
