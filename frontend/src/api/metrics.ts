/** Series of endpoints, deployments, models and nodes side by side. */
import { answer, api } from "./client";
import type { operations } from "./schema";

export type SeriesQuery = operations["metrics_query"]["parameters"]["query"];

export const readSeries = (query: SeriesQuery, signal: AbortSignal) =>
  answer(api.GET("/api/v1/metrics/query", { params: { query }, signal }));
