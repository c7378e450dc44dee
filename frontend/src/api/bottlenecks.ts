/** Why an endpoint is slow: where a mean request's time goes, and the likeliest causes. */
import { answer, api } from "./client";

export const readBottlenecks = (endpoint: string, deployment: string | undefined) =>
  answer(api.GET("/api/v1/endpoints/{endpoint}/bottlenecks", { params: { path: { endpoint }, query: deployment ? { deployment } : {} } }));
