/** Accounts of programs, for administrators. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { Role } from "./types";

export const serviceAccountsQuery = () =>
  queryOptions({
    queryKey: keys.serviceAccounts,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/service-accounts", { params: { query: page }, signal })),
  });

const named = (name: string) => ({ params: { path: { name } } });
/** Null days: as long as the installation's setting says. */
export const createServiceAccount = (name: string, role: Role, days: number | null) =>
  answer(api.POST("/api/v1/service-accounts", { body: { name, role, days } }));
export const rotateServiceAccount = (name: string, overlap_s: number) =>
  answer(api.POST("/api/v1/service-accounts/{name}/rotate", { ...named(name), body: { overlap_s } }));
export const deleteServiceAccount = (name: string) => answer(api.DELETE("/api/v1/service-accounts/{name}", named(name)));
