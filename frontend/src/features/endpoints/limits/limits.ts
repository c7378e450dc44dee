/** The limits of an endpoint as fields of a form, and back. Pure: what is allowed is the server's word. */
import { toProblem } from "@/api/problem";
import type { Endpoint } from "@/api/types";

export type Per = "endpoint" | "key";

export interface LimitsDraft {
  /** One origin per line. */
  origins: string;
  /** Empty: no limit. */
  bytes: number | "";
  perSecond: number | "";
  /** Empty: as many as per second. */
  burst: number | "";
  per: Per;
}

export interface LimitsBody {
  cors_origins: string[];
  max_request_bytes: number | null;
  rate_limit: { requests_per_second: number; burst?: number; per: Per } | null;
}

type LimitField = "cors_origins" | "max_request_bytes" | "requests_per_second" | "burst" | "per";
const FIELDS: readonly LimitField[] = ["cors_origins", "max_request_bytes", "requests_per_second", "burst", "per"];

type Limited = Pick<Endpoint, "cors_origins" | "max_request_bytes" | "rate_limit">;

export function draftOf({ cors_origins, max_request_bytes, rate_limit }: Limited): LimitsDraft {
  return {
    origins: cors_origins.join("\n"),
    bytes: max_request_bytes ?? "",
    perSecond: rate_limit?.requests_per_second ?? "",
    burst: rate_limit?.burst ?? "",
    per: rate_limit?.per ?? "endpoint",
  };
}

/** What is sent: an empty field takes its limit away. */
export function bodyOf(draft: LimitsDraft): LimitsBody {
  const { bytes, perSecond, burst, per } = draft;
  return {
    cors_origins: draft.origins.split(/[\s,]+/).filter(Boolean),
    max_request_bytes: bytes === "" ? null : bytes,
    rate_limit: perSecond === "" ? null : { requests_per_second: perSecond, ...(burst === "" ? {} : { burst }), per },
  };
}

export const sameDraft = (a: LimitsDraft, b: LimitsDraft): boolean => JSON.stringify(bodyOf(a)) === JSON.stringify(bodyOf(b));

/** Every text in what Django REST framework says of a field, however deep. */
function texts(detail: unknown): string[] {
  if (typeof detail === "string") return [detail];
  if (Array.isArray(detail)) return detail.flatMap(texts);
  return detail !== null && typeof detail === "object" ? Object.values(detail).flatMap(texts) : [];
}

export interface Refusal {
  /** The server's sentence for each field that it named. */
  fields: Partial<Record<LimitField, string>>;
  /** Something else went wrong, for a card of its own. */
  other: unknown;
}

/** Which fields a refusal is about, in the server's words. */
export function refusalOf(error: unknown): Refusal {
  if (error === null || error === undefined) return { fields: {}, other: null };
  const errors = toProblem(error).body["errors"];
  if (errors === null || typeof errors !== "object") return { fields: {}, other: error };
  const { rate_limit: pace, ...rest } = errors as Record<string, unknown>;
  // why so: a complaint about the pace as a whole is shown at its first field.
  const nested = pace !== null && typeof pace === "object" && !Array.isArray(pace) ? pace : { requests_per_second: pace };
  const named: Record<string, unknown> = { ...rest, ...nested };
  const fields: Refusal["fields"] = {};
  for (const field of FIELDS) {
    const said = [...new Set(texts(named[field]))].join(" ");
    if (said) fields[field] = said;
  }
  return Object.keys(fields).length > 0 ? { fields, other: null } : { fields: {}, other: error };
}
