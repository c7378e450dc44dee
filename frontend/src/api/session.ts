/** Who is signed in, and the personal API tokens. */
import { queryOptions } from "@tanstack/react-query";
import { answer, api, everyPage, setCsrfToken } from "./client";
import { keys } from "./keys";
import type { Scope, Session } from "./types";

export async function readSession(signal?: AbortSignal): Promise<Session> {
  const session = await answer(api.GET("/api/v1/session", signal ? { signal } : {}));
  setCsrfToken(session.csrf_token);
  return session;
}

export const sessionQuery = () => queryOptions({ queryKey: keys.session, queryFn: ({ signal }) => readSession(signal), staleTime: 60_000 });

/** Signs in. The answer carries a fresh CSRF token, which later writes need. */
export async function signIn(username: string, password: string, code: string): Promise<Session> {
  await answer(api.POST("/api/v1/session", { body: { username, password, code } }));
  return readSession();
}

/** Signs out here. Returns where the browser signs out at the provider as well, if it came from one. */
export async function signOut(): Promise<string | null> {
  const closed = await answer(api.DELETE("/api/v1/session"));
  return closed?.provider_logout_url ?? null;
}

export const tokensQuery = () =>
  queryOptions({
    queryKey: keys.tokens,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/tokens", { params: { query: page }, signal })),
  });
export interface NewToken {
  name: string;
  /** Null: all that one may do oneself. An empty list is refused. */
  scopes: Scope[] | null;
  /** ISO time; null: until it is revoked. */
  expires_at: string | null;
}
export const createToken = (body: NewToken) => answer(api.POST("/api/v1/tokens", { body }));
export const deleteToken = (id: number) => answer(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: id } } }));

export const changePassword = (current: string, password: string) =>
  answer(api.POST("/api/v1/session/password", { body: { current, password } }));

export const secondFactorQuery = () =>
  queryOptions({
    queryKey: keys.secondFactor,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/session/second-factor", { signal })),
  });
export const beginSecondFactor = (password: string) => answer(api.POST("/api/v1/session/second-factor", { body: { password } }));
/** The session goes on with a new CSRF token, which is read here; all other browsers are signed out. */
export async function confirmSecondFactor(code: string) {
  const confirmed = await answer(api.POST("/api/v1/session/second-factor/confirm", { body: { code } }));
  await readSession();
  return confirmed;
}
export const disableSecondFactor = (password: string, code: string) =>
  answer(api.POST("/api/v1/session/second-factor/disable", { body: { password, code } }));

export const sessionsQuery = () =>
  queryOptions({
    queryKey: keys.sessions,
    queryFn: ({ signal }) => everyPage((page) => api.GET("/api/v1/sessions", { params: { query: page }, signal })),
  });
export const endSession = (id: number) => answer(api.DELETE("/api/v1/sessions/{session_id}", { params: { path: { session_id: id } } }));
