/** Why a line has a gap, as far as what was measured beside it tells. Nothing is guessed: where it does not tell, that is said. Pure. */
import { t } from "@lingui/core/macro";
import type { Endpoint } from "@/api/types";
import { ALL, parseKey } from "@/live/metric-keys";
import { GATEWAY } from "@/metrics/gateway";
import { isOf, METRICS } from "@/metrics/registry";
import { SIZED } from "@/metrics/runtime";

/** Of a machine, as an endpoint's series name it, and those of a comparison. */
const NODE = /^node[:/](.+)$/;
const REPLICA = "replica:";
/** Means, shares and quantiles are taken over so many seconds or more; without a request they have no value. */
const PER_REQUEST_S = 5;

/** What else is known of that moment. */
export interface Moment {
  time: number;
  /** Undefined for a series that there is none of. */
  value: (key: string) => number | null | undefined;
  /** The studio heard nothing then. */
  silent: boolean;
  /** Only what ran on one node is shown. */
  oneNode: boolean;
}

/** When what is drawn was made, in Unix seconds, by the scope of its series. */
export type Made = ReadonlyMap<string, number>;

const seconds = (iso: string) => Date.parse(iso) / 1000;

/** Of an endpoint's own series. */
export const madeOf = ({ created_at: created, deployments }: Endpoint): Made =>
  new Map([...deployments.map((one) => [one.name, seconds(one.created_at)] as const), [ALL, seconds(created)]]);

/** Of the series of a comparison. */
export const madeOfAll = (endpoints: readonly Endpoint[]): Made =>
  new Map(
    endpoints.flatMap(({ name, created_at: created, deployments }) => [
      [`endpoint/${name}`, seconds(created)] as const,
      ...deployments.map((one) => [`deployment/${name}/${one.name}`, seconds(one.created_at)] as const),
    ]),
  );

export function gapReason(key: string, moment: Moment, made: Made): string {
  const unknown = t`no samples: the reason is not known`;
  const parsed = parseKey(key);
  if (!parsed) return unknown;
  const { metric } = parsed;
  // why: `batch.8.all` is of the size 8, over all.
  const scope = isOf(SIZED, metric) ? parsed.scope.slice(parsed.scope.indexOf(".") + 1) : parsed.scope;
  if (moment.time < (made.get(scope) ?? Number.NEGATIVE_INFINITY)) return t`before it was made`;
  if (moment.silent) return t`the studio heard nothing`;
  const node = NODE.exec(scope)?.[1];
  if (node) return t`no samples of node ${node}`;
  const requests = moment.value(`request_rate.${scope}`);
  const atGateway = isOf(GATEWAY, metric);
  if (atGateway && moment.oneNode) return t`measured at the gateway, of all nodes together`;
  const perRequest = atGateway || (isOf(METRICS, metric) && METRICS[metric].window >= PER_REQUEST_S);
  if (requests === undefined) return unknown;
  if (requests === 0 && perRequest) return t`no request came`;
  if (requests === null && scope.startsWith(REPLICA)) return t`no samples of this replica: it did not run, or its node was silent`;
  if (requests === null && !atGateway) return t`no samples of replicas: none ran, or their nodes were silent`;
  if (requests === null) return t`no samples: neither replicas nor the gateway told anything`;
  if (atGateway && requests > 0) return t`no samples of the gateway: requests came another way, or it was silent`;
  return unknown;
}
