/** The one door to `/api/v1`: JSON in and out, CSRF header, errors as `ApiProblem`. */
import { ApiProblem, type ProblemBody } from "./problem";

export const API_ROOT = "/api/v1";

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

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface CallOptions {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  /** It is carried out even when the page is left before the answer; bodies too large for that go as any other. */
  outlive?: boolean;
}

/** What browsers let all requests that outlive their page carry together. */
const OUTLIVING_BYTES = 64 * 1024;
let outlivingBytes = 0;

/** Joins path segments, each escaped: names may hold dots, slashes and colons. */
export function apiPath(...segments: (string | number)[]): string {
  return `${API_ROOT}/${segments.map((segment) => encodeURIComponent(String(segment))).join("/")}`;
}

function withQuery(path: string, query: Query | undefined): string {
  if (!query) return path;
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!text) return undefined;
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("json")) return text;
  return JSON.parse(text) as unknown;
}

function asProblem(body: unknown, response: Response): ApiProblem {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  if (body && typeof body === "object") return new ApiProblem(body as ProblemBody, response.status, requestId);
  const detail = typeof body === "string" ? body.slice(0, 300) : "";
  return new ApiProblem({ detail, title: response.statusText || undefined } as ProblemBody, response.status, requestId);
}

/** Sends one request. Raises `ApiProblem`; an abort is raised as the browser's `AbortError`. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const headers = new Headers({ Accept: "application/json" });
  if (options.body !== undefined) headers.set("Content-Type", "application/json");
  if (method !== "GET" && csrfToken) headers.set("X-CSRFToken", csrfToken);
  const sent = options.body === undefined ? undefined : JSON.stringify(options.body);
  // why the sum: one byte too many, over all such requests, and the browser refuses to send this one at all.
  const size = options.outlive ? new Blob([sent ?? ""]).size : 0;
  const keepalive = options.outlive === true && outlivingBytes + size <= OUTLIVING_BYTES;
  if (keepalive) outlivingBytes += size;
  let response: Response;
  try {
    response = await fetch(withQuery(path, options.query), {
      method,
      headers,
      credentials: "same-origin",
      ...(sent === undefined ? {} : { body: sent }),
      ...(options.signal ? { signal: options.signal } : {}),
      ...(keepalive ? { keepalive } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiProblem({ detail: "Check that it is running and that you are online.", code: "Unreachable" }, 0);
  } finally {
    if (keepalive) outlivingBytes -= size;
  }
  const body = await readBody(response);
  if (response.ok) return body as T;
  if (response.status === 401 && !path.startsWith(`${API_ROOT}/session`)) {
    for (const listener of unauthorizedListeners) listener();
  }
  throw asProblem(body, response);
}

export const get = <T>(path: string, options?: CallOptions) => call<T>("GET", path, options);

/** Of REST's lists: as many as one answer may hold. */
const PAGE_LIMIT = 500;

/** All items of a list, page after page: for things that an installation has hundreds of, not for what grows for ever. */
export async function getAll<T>(path: string, { query, ...options }: CallOptions = {}): Promise<{ items: T[]; next_cursor: null }> {
  const items: T[] = [];
  let cursor: string | null = "";
  do {
    const page: { items: T[]; next_cursor: string | null } = await get(path, { ...options, query: { ...query, limit: PAGE_LIMIT, cursor } });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return { items, next_cursor: null };
}

export const post = <T>(path: string, body?: unknown, options?: CallOptions) =>
  call<T>("POST", path, { ...options, body: body ?? {} });
export const put = <T>(path: string, body: unknown, options?: CallOptions) => call<T>("PUT", path, { ...options, body });
export const patch = <T>(path: string, body: unknown) => call<T>("PATCH", path, { body });
export const del = <T>(path: string, query?: Query, options?: CallOptions) =>
  call<T>("DELETE", path, { ...options, ...(query ? { query } : {}) });
