/** Who is signed in, and the personal API tokens. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, call, del, get, post, setCsrfToken } from "./client";
import { keys } from "./keys";
import type { ApiToken, ApiTokenCreated, Page, Session } from "./types";

async function readSession(signal?: AbortSignal): Promise<Session> {
  const session = await get<Session>(apiPath("session"), signal ? { signal } : {});
  setCsrfToken(session.csrf_token);
  return session;
}

export const sessionQuery = () =>
  queryOptions({ queryKey: keys.session, queryFn: ({ signal }) => readSession(signal), staleTime: 60_000 });

/** Signs in. The answer carries a fresh CSRF token, which later writes need. */
export async function signIn(username: string, password: string): Promise<Session> {
  await post<unknown>(apiPath("session"), { username, password });
  return readSession();
}

export const signOut = () => call<unknown>("DELETE", apiPath("session"));

export const tokensQuery = () =>
  queryOptions({ queryKey: keys.tokens, queryFn: ({ signal }) => get<Page<ApiToken>>(apiPath("tokens"), { signal }) });
export const createToken = (name: string) => post<ApiTokenCreated>(apiPath("tokens"), { name });
export const deleteToken = (id: number) => del<unknown>(apiPath("tokens", id));
