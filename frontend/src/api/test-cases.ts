/** Saved calls of the test console. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, del, get, getAll, post, put } from "./client";
import { keys } from "./keys";
import type { TestCase, TestCaseInput, TestCaseSummary } from "./types";

export const testCasesQuery = (model: string) =>
  queryOptions({
    queryKey: keys.testCases.list(model),
    queryFn: ({ signal }) => getAll<TestCaseSummary>(apiPath("test-cases"), { query: { model }, signal }),
  });

export const testCaseQuery = (id: string) =>
  queryOptions({
    queryKey: keys.testCases.one(id),
    queryFn: ({ signal }) => get<TestCase>(apiPath("test-cases", id), { signal }),
  });

export const createTestCase = (body: TestCaseInput) => post<TestCase>(apiPath("test-cases"), body);
export const replaceTestCase = (id: string, body: TestCaseInput) => put<TestCase>(apiPath("test-cases", id), body);
export const deleteTestCase = (id: string) => del<unknown>(apiPath("test-cases", id));
