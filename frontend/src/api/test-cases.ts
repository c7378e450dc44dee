/** Saved calls of the test console. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { TestCase, TestCaseInput } from "./types";

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

const at = (endpoint: string) => ({ params: { path: { endpoint } } });

/** Asks a deployment all golden cases of its models, and compares. */
export const runTestCases = (endpoint: string, deployment: string) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/test-cases/run", { ...at(endpoint), body: { deployment } }));

/** Lets a case expect what the deployment answers now. */
export const acceptTestCase = (endpoint: string, deployment: string, id: string) =>
  answer(api.POST("/api/v1/endpoints/{endpoint}/test-cases/accept", { ...at(endpoint), body: { deployment, cases: [id] } }));

/** A case as it is sent back, with other values in some places. */
export function changedCase(saved: TestCase, part: Partial<TestCaseInput>): TestCaseInput {
  const { name, description, model, endpoint, inputs, options, expected, tolerance } = saved;
  return { name, description, model, endpoint, inputs, options, expected, tolerance, ...part };
}
