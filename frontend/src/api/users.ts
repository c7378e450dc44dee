/** People, for administrators. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, getAll, patch, post } from "./client";
import { keys } from "./keys";
import type { Person, PersonCreated, Role } from "./types";

export const usersQuery = (q: string) =>
  queryOptions({
    queryKey: keys.users.list(q),
    queryFn: ({ signal }) => getAll<Person>(apiPath("users"), { query: { q }, signal }),
  });

export const createUser = (username: string, role: Role) => post<PersonCreated>(apiPath("users"), { username, role });
export const updateUser = (username: string, change: { role?: Role; active?: boolean }) =>
  patch<Person>(apiPath("users", username), change);
export const resetPassword = (username: string) =>
  post<{ password: string | null }>(apiPath("users", username, "password"));
