/** The metrics page per replica: what the runtimes count themselves, one line for each. Pure. */
import { plural, t } from "@lingui/core/macro";
import type { Replica } from "@/api/types";
import type { TimeRange } from "@/app/time-range";
import { replicaKey, type ReplicaScope } from "@/live/metric-keys";
import type { ReplicaMetric } from "@/metrics/registry";
import { REPLICAS } from "@/metrics/views";
import { type PanelGroup, panelOf, styled } from "./panels";

/** How long the server keeps raw samples: roll-ups know deployments and nodes, no replicas. */
export const KEPT_SECONDS = 6 * 3600;

/** What is asked of the server: the gateway's figures belong to no replica. */
export const REPLICA_METRICS: readonly ReplicaMetric[] = REPLICAS.flatMap((group) => group.panels);

interface Owner {
  name: string;
  replicas: readonly Pick<Replica, "id" | "ordinal">[];
}

/** `blue 0`; what is gone by now, and what shares its number while one replaces the other, shows its id too. */
export function replicaLabel({ deployment, id }: ReplicaScope, owners: readonly Owner[]): string {
  const mates = owners.find((owner) => owner.name === deployment)?.replicas ?? [];
  const found = mates.find((one) => one.id === id);
  if (!found) return t`${deployment} ${id.slice(0, 8)}, gone`;
  const alone = mates.filter((one) => one.ordinal === found.ordinal).length === 1;
  return alone ? `${deployment} ${found.ordinal}` : `${deployment} ${found.ordinal}, ${id.slice(0, 8)}`;
}

export function replicaGroups(scopes: readonly ReplicaScope[], owners: readonly Owner[]): PanelGroup[] {
  return REPLICAS.map(({ id, title, panels }) => ({
    id,
    title,
    panels: panels.map((metric) =>
      panelOf(metric, styled(scopes.map((scope) => ({ key: replicaKey(metric, scope), label: replicaLabel(scope, owners) }))), true),
    ),
  }));
}

/** What a reader must know of the time asked for and of who is missing; `now` in Unix seconds. */
export function replicaNotes(range: TimeRange, leftOut: number, now: number): string[] {
  const notes = [t`Each replica on its own: latency quantiles, answers and bytes are measured at the gateway and belong to no replica.`];
  const start = range.kind === "fixed" ? range.from : now - range.seconds;
  if (start < now - KEPT_SECONDS - 60) notes.push(t`Single replicas are kept for 6 hours: before that their lines are empty.`);
  if (leftOut > 0)
    notes.push(t`${plural(leftOut, { one: "# more replica is", other: "# more replicas are" })} not drawn: choose a deployment or a node.`);
  return notes;
}

/** Why there is no line at all. */
export function noReplicas(range: TimeRange, now: number): { title: string; detail: string } {
  if (range.kind === "fixed" && range.to <= now - KEPT_SECONDS) {
    return {
      title: t`Too long ago for single replicas`,
      detail: t`They are kept for 6 hours; after that only the sums of deployments and nodes stay. Switch “Per replica” off to see these.`,
    };
  }
  return { title: t`No replica was sampled in this time`, detail: t`A replica that runs is sampled every two seconds.` };
}
