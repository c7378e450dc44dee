import { expect, test } from "vitest";
import type { Endpoint } from "@/api/types";
import { gapReason, madeOf, madeOfAll } from "./gap-reason";

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
const ENDPOINT = { name: "e", created_at: iso(1000), deployments: [{ name: "blue", created_at: iso(2000) }] } as Endpoint;
const MADE = madeOf(ENDPOINT);
const SIDE_BY_SIDE = madeOfAll([ENDPOINT]);
const UNKNOWN = "no samples: the reason is not known";
const NO_REPLICAS = "no samples of replicas: none ran, or their nodes were silent";

test.each<[string, string, number, Record<string, number | null>, string]>([
  ["nobody asked", "p95_us.all", 3000, { "request_rate.all": 0 }, "no request came"],
  ["a share of nothing", "error_rate.blue", 3000, { "request_rate.blue": 0 }, "no request came"],
  ["a mean of the runtimes", "queue_share.all", 3000, { "request_rate.all": 0 }, "no request came"],
  ["a batch of a size", "batch_us.8.all", 3000, { "request_rate.all": 0 }, "no request came"],
  ["a replica that nobody asked", "request_us.replica:blue/a1", 3000, { "request_rate.replica:blue/a1": 0 }, "no request came"],
  ["of a process without a sample, requests tell nothing", "memory_bytes.all", 3000, { "request_rate.all": 0 }, UNKNOWN],
  ["nothing of the replicas", "request_rate.all", 3000, { "request_rate.all": null }, NO_REPLICAS],
  ["nothing of a deployment's", "cpu.blue", 3000, { "request_rate.blue": null }, NO_REPLICAS],
  [
    "nothing of one replica",
    "cpu.replica:blue/a1",
    3000,
    { "request_rate.replica:blue/a1": null },
    "no samples of this replica: it did not run, or its node was silent",
  ],
  ["nothing of anybody", "p95_us.all", 3000, { "request_rate.all": null }, "no samples: neither replicas nor the gateway told anything"],
  [
    "requests that the gateway does not know of",
    "p95_us.all",
    3000,
    { "request_rate.all": 4 },
    "no samples of the gateway: requests came another way, or it was silent",
  ],
  ["requests that the runtimes tell no time of", "request_us.all", 3000, { "request_rate.all": 4 }, UNKNOWN],
  ["another deployment's requests tell nothing", "p95_us.green", 3000, { "request_rate.all": 0 }, UNKNOWN],
  ["of machines", "gpu0_util.node:n1", 3000, {}, "no samples of node n1"],
  ["before the endpoint", "p95_us.all", 900, { "request_rate.all": 0 }, "before it was made"],
  ["before the deployment", "p95_us.blue", 1900, {}, "before it was made"],
  ["before the deployment, of the endpoint", "p95_us.all", 1900, { "request_rate.all": 0 }, "no request came"],
  ["what has no scope", "p95_us", 3000, {}, UNKNOWN],
])("%s", (_, key, time, values, expected) =>
  expect(gapReason(key, { time, value: (name) => values[name], silent: false, oneNode: false }, MADE)).toBe(expected),
);

test.each<[string, string, number, Record<string, number | null>, string]>([
  ["nobody asked a deployment", "p95_us.deployment/e/blue", 3000, { "request_rate.deployment/e/blue": 0 }, "no request came"],
  ["nobody asked a model", "queue_share.model/net", 3000, { "request_rate.model/net": 0 }, "no request came"],
  ["before an endpoint", "p95_us.endpoint/e", 900, {}, "before it was made"],
  ["before a deployment", "cpu.deployment/e/blue", 1900, {}, "before it was made"],
  ["a name that is an endpoint's and a model's", "request_us.model/e", 900, {}, UNKNOWN],
  ["a machine", "host_cpu.node/n1", 3000, {}, "no samples of node n1"],
  ["a device of one", "gpu1_util.node/n1", 3000, {}, "no samples of node n1"],
])("side by side: %s", (_, key, time, values, expected) =>
  expect(gapReason(key, { time, value: (name) => values[name], silent: false, oneNode: false }, SIDE_BY_SIDE)).toBe(expected),
);

test.each([
  ["p95_us.all", "measured at the gateway, of all nodes together"],
  ["request_us.all", UNKNOWN],
])("of one node: %s", (key, expected) =>
  expect(gapReason(key, { time: 3000, value: () => 4, silent: false, oneNode: true }, MADE)).toBe(expected),
);

test("what the studio did not hear, it does not explain by what it heard", () =>
  expect(gapReason("p95_us.all", { time: 3000, value: () => 0, silent: true, oneNode: false }, MADE)).toBe("the studio heard nothing"));
