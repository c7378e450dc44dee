/** Whether gateways act on an endpoint's newest traffic and keys, and who is not known to. */
import { t } from "@lingui/core/macro";
import { answer, api } from "./client";
import type { Endpoint } from "./types";

const POLL_MS = 500;
// A gateway counts as silent after 15 s; then the answer names it.
const LONGEST_MS = 20_000;

/** Nothing where every gateway has confirmed them; `now` in ms. */
export function unconfirmedWords(endpoint: Pick<Endpoint, "routed" | "unconfirmed">, now: number): string {
  if (endpoint.routed) return "";
  const names = endpoint.unconfirmed.map(({ gateway, silent_since }) => {
    const seconds = Math.max(0, Math.round((now - new Date(silent_since).getTime()) / 1000));
    return t`gateway ${gateway} (silent for ${seconds} s)`;
  });
  return t`Not confirmed by ${names.join(", ") || t`all gateways yet`}`;
}

/** Asks until all have confirmed, or one counts as silent. */
export async function unconfirmedBy(endpoint: string): Promise<string> {
  const until = Date.now() + LONGEST_MS;
  for (;;) {
    const shown = await answer(api.GET("/api/v1/endpoints/{endpoint}", { params: { path: { endpoint } } }));
    const words = unconfirmedWords(shown, Date.now());
    if (words === "" || Date.now() >= until) return words;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
