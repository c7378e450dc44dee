/** Saved calls of the test console. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { TestCaseInput } from "./types";

const of = (id: string) => ({ params: { path: { case_id: id } } });

export const testCasesQuery = (model: string) =>
  queryOptions({
    queryKey: keys.testCases.list(model),
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/test-cases", { params: { query: { model, ...page } }, signal })),
  });

export const testCaseQuery = (id: string) =>
  queryOptions({
    queryKey: keys.testCases.one(id),
    queryFn: ({ signal }) => answer(api.GET("/api/v1/test-cases/{case_id}", { ...of(id), signal })),
  });

export const createTestCase = (body: TestCaseInput) => answer(api.POST("/api/v1/test-cases", { body }));
export const replaceTestCase = (id: string, body: TestCaseInput) => answer(api.PUT("/api/v1/test-cases/{case_id}", { ...of(id), body }));
export const deleteTestCase = (id: string) => answer(api.DELETE("/api/v1/test-cases/{case_id}", of(id)));
