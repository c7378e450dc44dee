/**
 * The one client of `/api/v1`: `api` knows the paths, parameters and answers of docs/openapi.json, `answer` gives what
 * a call was answered, or raises an `ApiProblem`.
 */
import { t } from "@lingui/core/macro";
import createClient, { type Middleware } from "openapi-fetch";
import { ApiProblem, problemOf } from "./problem";
import type { paths } from "./schema";

let csrfToken = "";
const unauthorizedListeners = new Set<() => void>();

/** Called by the session query: later writes carry this token. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

export function getCsrfToken(): string {
  return csrfToken;
}

/** Tells when a call other than the session's own was answered 401, that is: the session has ended. */
export function onUnauthorized(listener: () => void): () => void {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}

/** What is null or empty is not asked for. */
function querySerializer(query: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") search.append(key, String(one));
    }
  }
  return search.toString();
}

const session: Middleware = {
  onRequest({ request }) {
    if (request.method !== "GET" && csrfToken) request.headers.set("X-CSRFToken", csrfToken);
  },
  onResponse({ response, schemaPath }) {
    if (response.status !== 401 || schemaPath.startsWith("/api/v1/session")) return;
    for (const listener of unauthorizedListeners) listener();
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    return new ApiProblem({ detail: t`Check that it is running and that you are online.`, code: "Unreachable" }, 0);
  },
};

export const api = createClient<paths>({
  headers: { Accept: "application/json" },
  querySerializer,
  // Asked anew for each call: the made-up installation takes its place after this module is loaded.
  fetch: (request) => globalThis.fetch(request),
});
api.use(session);

interface Reply<T> {
  data?: T;
  error?: object;
  response: Response;
}

const succeeded = <T>(reply: Reply<T>): reply is Reply<T> & { data: T } => reply.error === undefined && reply.response.ok;

/** Raises `ApiProblem` for what is no success; an abort is raised as the browser's `AbortError`. */
export async function answer<T>(call: Promise<Reply<T>>): Promise<T> {
  const reply = await call;
  if (!succeeded(reply)) throw problemOf(reply.error, reply.response);
  return reply.data;
}

/** Of REST's lists: as many as one answer may hold. */
const PAGE_LIMIT = 500;

interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** All items of a list, page after page: for things that an installation has hundreds of, not for what grows for ever. */
export async function everyPage<T>(
  read: (page: { limit: number; cursor?: string }) => Promise<Reply<Page<T>>>,
): Promise<{ items: T[]; next_cursor: null }> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<T> = await answer(read({ limit: PAGE_LIMIT, ...(cursor ? { cursor } : {}) }));
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return { items, next_cursor: null };
}

/** What browsers let all requests that outlive their page carry together. */
const OUTLIVING_BYTES = 64 * 1024;
let outlivingBytes = 0;

/** A call that is carried out even when the page is left before the answer; a body too large for that goes as any other. */
export async function outliving<T>(body: unknown, send: (init: { keepalive: boolean }) => Promise<T>): Promise<T> {
  // why the sum: one byte too many, over all such requests, and the browser refuses to send this one at all.
  const size = body === undefined ? 0 : new Blob([JSON.stringify(body)]).size;
  const keepalive = outlivingBytes + size <= OUTLIVING_BYTES;
  if (!keepalive) return send({ keepalive });
  outlivingBytes += size;
  try {
    return await send({ keepalive });
  } finally {
    outlivingBytes -= size;
  }
}
