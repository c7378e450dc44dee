/** The last change of traffic in the made-up installation: gateways confirm at once, and green does well. */
import type { Endpoint, TrafficChange, TrafficWatch } from "../src/api/types";

const WATCHED_S = 120;
const later = (at: string, seconds: number): string => new Date(Date.parse(at) + seconds * 1_000).toISOString();

const given = (traffic: Record<string, number>) => JSON.stringify(Object.entries(traffic).filter(([, share]) => share > 0));

function changeOf(before: Record<string, number>, after: Record<string, number>, actor: string): TrafficChange {
  const at = new Date().toISOString();
  const rest = { mirror_traffic: {}, traffic_rules: [] };
  return {
    state: "watching",
    before: { traffic: before, ...rest },
    after: { traffic: after, ...rest },
    actor,
    changed_at: at,
    routed_at: at,
    watched_until: later(at, WATCHED_S),
    undone_by: "",
    undone_at: null,
    undo: { traffic: before },
  };
}

/** `endpoint` is about to get `traffic`: what is told of that. */
export function noted(endpoint: Endpoint, traffic: Record<string, number>): TrafficChange | null {
  const last = endpoint.traffic_change;
  if (given(traffic) === given(endpoint.traffic)) return last;
  if (last && last.state !== "undone" && given(last.before.traffic) === given(traffic)) {
    return { ...last, state: "undone", undone_by: "maria", undone_at: new Date().toISOString(), undo: null };
  }
  return changeOf(endpoint.traffic, traffic, "maria");
}

export function watchOf({ name, traffic_change: change }: Endpoint): TrafficWatch {
  if (change === null) return { endpoint: name, change, left_s: null, found: null };
  const { before, after } = change;
  const gaining = Object.keys(after.traffic).filter((one) => (after.traffic[one] ?? 0) > (before.traffic[one] ?? 0));
  const left = (Date.parse(change.watched_until ?? change.changed_at) - Date.now()) / 1_000;
  return {
    endpoint: name,
    change,
    left_s: change.state === "watching" ? Math.max(0, left) : null,
    found: {
      before: { requests: 9_195, error_share: 0.0052, p95_us: 11_900 },
      gaining: gaining.map((deployment) => ({
        deployment,
        figures: { requests: 184, error_share: 0, p95_us: 12_100 },
        compared: true,
        verdict: "fine",
      })),
      verdict: gaining.length > 0 ? "fine" : "none_gains",
      text: "",
    },
  };
}
