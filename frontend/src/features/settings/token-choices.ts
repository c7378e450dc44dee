/** What a token may be limited to, in words, and how long it may live. */
import { t } from "@lingui/core/macro";
import type { Scope } from "@/api/types";

export const SCOPE_WORDS: readonly { scope: Scope; words: string }[] = [
  { scope: "read", words: t`Read everything but keys (always)` },
  { scope: "invoke", words: t`Send requests from the test console` },
  { scope: "deploy", words: t`Change models, endpoints, deployments, traffic` },
  { scope: "keys", words: t`See and renew the keys of endpoints` },
  { scope: "operate", words: t`Join, cordon, drain and remove nodes` },
  { scope: "code:upload", words: t`Bring and approve models that run code` },
  { scope: "administer", words: t`Manage people and storage` },
];

export const LIFETIMES = [
  { value: "1", label: t`1 day` },
  { value: "30", label: t`30 days` },
  { value: "90", label: t`90 days` },
  { value: "365", label: t`1 year` },
  { value: "never", label: t`Until revoked` },
];

/** The moment as the server takes it; null for a token without an end. */
export function expiryOf(days: string, now: number): string | null {
  const count = Number(days);
  return Number.isFinite(count) ? new Date(now + count * 86_400_000).toISOString() : null;
}

export type TokenEnd = "open" | "later" | "soon" | "past";

/** How near a token's end is; soon is within a week. */
export function tokenEnd(expires: string | null, now: number = Date.now()): TokenEnd {
  if (expires === null) return "open";
  const left = new Date(expires).getTime() - now;
  if (left <= 0) return "past";
  return left < 7 * 86_400_000 ? "soon" : "later";
}
