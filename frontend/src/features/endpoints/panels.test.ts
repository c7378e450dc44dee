import { expect, test } from "vitest";
import { batchKey, metricKey } from "@/live/metric-keys";
import { overviewPanels, panelGroups } from "./panels";

const none = () => false;
const all = () => true;
const BOTH = ["blue", "green"];
const panelsOf = (keys: string[], measured = none, deployments = BOTH) =>
  panelGroups({ keys, deployments, scope: "all" }, measured).flatMap((group) => group.panels);
const titles = (keys: string[], measured = none) => panelsOf(keys, measured).map((panel) => panel.title);

test("a panel that nothing can fill is not there", () => {
  expect(titles([])).not.toContain("GPU utilisation");
  expect(titles([])).not.toContain("Cache hits");
  expect(titles(["gpu0_util.node:a1"])).toContain("GPU utilisation");
  expect(titles([], all)).toEqual(expect.arrayContaining(["Cache hits", "First response"]));
});

test("all deployments are compared, one alone stands alone", () => {
  const lines = (scope: string) => panelGroups({ keys: [], deployments: BOTH, scope }, none)[0]?.panels[0]?.lines.map((line) => line.key);
  expect(lines("all")).toEqual([metricKey("inference_rate", "blue"), metricKey("inference_rate", "green")]);
  expect(lines("green")).toEqual([metricKey("inference_rate", "green")]);
});

test("at most twelve batch sizes are drawn, the largest, each told apart", () => {
  const keys = Array.from({ length: 20 }, (_, index) => batchKey(index + 1));
  const sizes = panelsOf(keys).find((panel) => panel.id === "batch-sizes");
  expect(sizes?.lines.map((line) => line.label)).toEqual(Array.from({ length: 12 }, (_, index) => String(index + 9)));
  const looks = new Set(sizes?.lines.map((line) => `${line.color} ${line.dash ?? ""}`));
  expect(looks.size).toBe(12);
});

test("with several machines a device says whose it is", () => {
  const gpu = panelsOf(["gpu0_util.node:a1", "gpu1_util.node:a1", "gpu0_util.node:b.2", "host_cpu.node:b.2"]).find(
    (panel) => panel.id === "gpu",
  );
  expect(gpu?.lines.map((line) => line.label)).toEqual(["a1 GPU 0", "a1 GPU 1", "b.2 GPU 0"]);
  expect(gpu?.lines[2]?.key).toBe("gpu0_util.node:b.2");
});

test("the overview shows devices where there are any", () => {
  const ids = (keys: string[]) => overviewPanels({ keys, deployments: BOTH, scope: "all" }).map((panel) => panel.id);
  expect(ids([])).toEqual(["throughput", "latency", "time", "batch-sizes", "failed", "memory"]);
  expect(ids(["gpu0_util.node:a1"]).slice(-2)).toEqual(["gpu", "gpu-memory"]);
});

test("every panel has a formula, and a title of its own", () => {
  const panels = panelsOf([batchKey(1), "gpu0_util.node:a"], all, ["blue"]);
  expect(new Set(panels.map((panel) => panel.title)).size).toBe(panels.length);
  for (const panel of panels) expect(panel.formula.length, panel.title).toBeGreaterThan(20);
});
