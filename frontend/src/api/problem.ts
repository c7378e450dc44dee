/** Errors of the API (RFC 9457) as one exception type that every page can show. */
import { t } from "@lingui/core/macro";

export interface ProblemBody {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  instance?: string;
  code?: string;
  hints?: string[];
  field?: string;
  [extra: string]: unknown;
}

/** A failed call. `status` 0 means that the server could not be reached at all. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly hints: string[];
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  readonly body: ProblemBody;

  constructor(body: ProblemBody, status: number, requestId?: string) {
    const title = body.title ?? (status === 0 ? t`The studio server cannot be reached` : t`The server answered ${status}`);
    super(body.detail ? `${title}: ${body.detail}` : title);
    this.name = "ApiProblem";
    this.status = status;
    this.code = body.code ?? (status === 0 ? "Unreachable" : `Http${status}`);
    this.title = title;
    this.detail = body.detail ?? "";
    this.hints = Array.isArray(body.hints) ? body.hints : [];
    this.field = body.field;
    this.requestId = requestId ?? (typeof body.instance === "string" ? body.instance : undefined);
    this.body = body;
  }
}

const isBody = (body: unknown): body is ProblemBody => typeof body === "object" && body !== null;

/** The problem that a call was answered with; a proxy before the server may answer with a page or with nothing. */
export function problemOf(body: unknown, response: Response): ApiProblem {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  if (isBody(body)) return new ApiProblem(body, response.status, requestId);
  const detail = typeof body === "string" ? body.slice(0, 300) : "";
  return new ApiProblem({ detail, title: response.statusText || undefined }, response.status, requestId);
}

export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ApiProblem({ title: t`Something went wrong in the browser`, detail, code: "ClientError" }, -1);
}

/** The sentence to show: the detail where there is one, else the title. */
export function problemText(error: unknown): string {
  const problem = toProblem(error);
  return problem.detail || problem.title;
}

/** Somebody has changed the thing since it was read (412): it is to be read again. */
export const wasOvertaken = (error: unknown): boolean => error instanceof ApiProblem && error.code === "PreconditionFailed";

/** What others have made of a thing since it was read, and who, where the server knows. */
export interface Overtaken<T> {
  current: T;
  changed: { by: string; at: string } | null;
}

/** The schema does not say it: `current` is the thing as reads of it answer, so what it is is known by what was sent. */
const isThing = <T extends { etag: string }>(current: unknown): current is T =>
  typeof current === "object" && current !== null && "etag" in current && typeof current.etag === "string";

const isChange = (changed: unknown): changed is { by: string; at: string } =>
  typeof changed === "object" && changed !== null && "by" in changed && "at" in changed;

/** What a refusal tells of that; nothing where it is another one, or the thing is gone. */
export function overtakenBy<T extends { etag: string }>(error: unknown): Overtaken<T> | null {
  if (!wasOvertaken(error)) return null;
  const { current, changed } = toProblem(error).body;
  return isThing<T>(current) ? { current, changed: isChange(changed) ? changed : null } : null;
}

/**
 * Sends a change of what was seen. Where others have changed the thing since, but not what this change is about, it is sent once more,
 * as a change of what it is now; else the refusal is raised, for people to decide.
 */
export async function sendOver<T extends { etag: string }, R>(
  seen: T,
  send: (over: T) => Promise<R>,
  untouched: (current: T) => boolean,
): Promise<R> {
  try {
    return await send(seen);
  } catch (error) {
    const now = overtakenBy<T>(error);
    if (now === null || !untouched(now.current)) throw error;
    return send(now.current);
  }
}
