/** Who is signed in, and the personal API tokens. */
import { queryOptions } from "@tanstack/react-query";
import { apiPath, call, del, get, getAll, post, setCsrfToken } from "./client";
import { keys } from "./keys";
import type { ApiToken, ApiTokenCreated, BrowserSession, Scope, Session } from "./types";

export async function readSession(signal?: AbortSignal): Promise<Session> {
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
  queryOptions({ queryKey: keys.tokens, queryFn: ({ signal }) => getAll<ApiToken>(apiPath("tokens"), { signal }) });
export interface NewToken {
  name: string;
  /** Null: all that one may do oneself. An empty list is refused. */
  scopes: Scope[] | null;
  /** ISO time; null: until it is revoked. */
  expires_at: string | null;
}
export const createToken = (body: NewToken) => post<ApiTokenCreated>(apiPath("tokens"), body);
export const deleteToken = (id: number) => del<unknown>(apiPath("tokens", id));

export const changePassword = (current: string, password: string) =>
  post<unknown>(apiPath("session", "password"), { current, password });

export const sessionsQuery = () =>
  queryOptions({
    queryKey: keys.sessions,
    queryFn: ({ signal }) => getAll<BrowserSession>(apiPath("sessions"), { signal }),
  });
export const endSession = (id: number) => del<unknown>(apiPath("sessions", id));
