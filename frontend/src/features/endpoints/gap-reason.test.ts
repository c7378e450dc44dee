import { expect, test } from "vitest";
import { gapReason, type Made } from "./gap-reason";

const MADE: Made = { endpoint: 1000, deployments: new Map([["blue", 2000]]) };
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
  expect(gapReason(key, { time, value: (name) => values[name], silent: false }, MADE)).toBe(expected),
);

test("what the studio did not hear, it does not explain by what it heard", () =>
  expect(gapReason("p95_us.all", { time: 3000, value: () => 0, silent: true }, MADE)).toBe("the studio heard nothing"));
