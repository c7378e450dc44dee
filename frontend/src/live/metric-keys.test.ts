import { expect, test } from "vitest";
import { ALL, batchKey, batchSizes, highKey, hosts, metricKey, parseKey } from "./metric-keys";

test("a key names a metric and a deployment, or all", () => {
  expect(metricKey("p95_us", "blue")).toBe("p95_us.blue");
  expect(metricKey("inference_rate")).toBe(`inference_rate.${ALL}`);
});

test("only the first dot separates: a deployment's name may hold dots", () => {
  expect(parseKey("queue_us.v1.2-canary")).toEqual({ metric: "queue_us", scope: "v1.2-canary" });
  expect(parseKey(metricKey("pending", "a.b"))).toEqual({ metric: "pending", scope: "a.b" });
});

test("what is not a key is not parsed", () => {
  expect(parseKey("plain")).toBeNull();
  expect(parseKey(".blue")).toBeNull();
  expect(parseKey("p50_us.")).toBeNull();
});

test("batch sizes are found among the keys, in numeric order", () => {
  const keys = ["batch.16.all", "p50_us.all", batchKey(2), "batch.x.all", "batch.4.blue", batchKey(128)];
  expect(batchSizes(keys)).toEqual([2, 16, 128]);
});

test("machines are found with their devices, bounds of their series are none", () => {
  const keys = [
    "gpu1_memory.node:b",
    "gpu0_util.node:b",
    "gpu0_memory.node:b",
    "host_cpu.node:a.1",
    highKey("gpu0_util.node:b"),
    "p50_us.node",
  ];
  expect(hosts(keys)).toEqual([
    { node: "a.1", gpus: [] },
    { node: "b", gpus: [0, 1] },
  ]);
});
