/** People, for administrators. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage } from "./client";
import { keys } from "./keys";
import type { Role } from "./types";

export const usersQuery = (q: string) =>
  queryOptions({
    queryKey: keys.users.list(q),
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/users", { params: { query: { q, ...page } }, signal })),
  });

const named = (username: string) => ({ params: { path: { username } } });
export const createUser = (username: string, role: Role) => answer(api.POST("/api/v1/users", { body: { username, role } }));
export const updateUser = (username: string, body: { role?: Role; active?: boolean }) =>
  answer(api.PATCH("/api/v1/users/{username}", { ...named(username), body }));
export const resetPassword = (username: string) => answer(api.POST("/api/v1/users/{username}/password", { ...named(username), body: {} }));
export const resetSecondFactor = (username: string) => answer(api.DELETE("/api/v1/users/{username}/second-factor", named(username)));
