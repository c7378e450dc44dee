/** Which events are drawn over charts, and as what. */
import type { EventItem } from "@/api/types";
import type { Mark } from "@/components/charts/chart-group";

/** Changes that may explain a curve; keys shown or words edited do not. */
const EXPLAINS: ReadonlySet<string> = new Set([
  "endpoint.traffic_changed",
  "endpoint.mirror_changed",
  "endpoint.rules_changed",
  "endpoint.auth_mode_changed",
  "endpoint.limits_changed",
  "operation.started",
  "operation.succeeded",
  "operation.failed",
  "operation.canceled",
  "deployment.autoscaled",
  "deployment.autoscaling_blocked",
  "deployment.healing",
  "deployment.updated",
  "rollout.withdrawn",
  "replica.ready",
  "replica.restarted",
  "replica.failed",
  "replica.stopped",
  "replica.unknown",
]);

/** Marks within a time, oldest first. */
export function marksOf(events: readonly EventItem[], from: number, to: number): Mark[] {
  return events
    .filter((event) => EXPLAINS.has(event.verb))
    .map((event) => ({
      at: new Date(event.at).getTime() / 1000,
      label: event.message,
      tone: event.severity === "error" ? ("error" as const) : event.severity === "warning" ? ("warn" as const) : ("info" as const),
    }))
    .filter((mark) => mark.at >= from && mark.at <= to)
    .sort((a, b) => a.at - b.at);
}
