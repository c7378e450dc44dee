import { expect, test } from "vitest";
import { batchKey, metricKey } from "@/live/metric-keys";
import { panelGroups } from "./panels";

const NONE = { cache: false, streams: false };
const titles = (keys: string[], has = NONE) =>
  panelGroups(keys, ["blue", "green"], "all", has).flatMap((group) => group.panels.map((panel) => panel.title));

test("a panel that nothing can fill is not there", () => {
  expect(titles([])).not.toContain("GPU utilisation");
  expect(titles([])).not.toContain("Cache hits");
  expect(titles(["gpu0_util.node:a1"])).toContain("GPU utilisation");
  expect(titles([], { cache: true, streams: true })).toEqual(expect.arrayContaining(["Cache hits", "First response"]));
});

test("all deployments are compared, one alone stands alone", () => {
  const lines = (scope: string) => panelGroups([], ["blue", "green"], scope, NONE)[0]?.panels[0]?.lines.map((line) => line.key);
  expect(lines("all")).toEqual([metricKey("inference_rate", "blue"), metricKey("inference_rate", "green")]);
  expect(lines("green")).toEqual([metricKey("inference_rate", "green")]);
});

test("at most twelve batch sizes are drawn, the largest, each told apart", () => {
  const keys = Array.from({ length: 20 }, (_, index) => batchKey(index + 1));
  const sizes = panelGroups(keys, [], "all", NONE)
    .flatMap((group) => group.panels)
    .find((panel) => panel.id === "batch-sizes");
  expect(sizes?.lines.map((line) => line.label)).toEqual(Array.from({ length: 12 }, (_, index) => String(index + 9)));
  const looks = new Set(sizes?.lines.map((line) => `${line.color} ${line.dash ?? ""}`));
  expect(looks.size).toBe(12);
});

test("with several machines a device says whose it is", () => {
  const panels = panelGroups(["gpu0_util.node:a1", "gpu1_util.node:a1", "gpu0_util.node:b.2", "host_cpu.node:b.2"], [], "all", NONE);
  const gpu = panels.flatMap((group) => group.panels).find((panel) => panel.id === "gpu");
  expect(gpu?.lines.map((line) => line.label)).toEqual(["a1 GPU 0", "a1 GPU 1", "b.2 GPU 0"]);
  expect(gpu?.lines[2]?.key).toBe("gpu0_util.node:b.2");
});

test("every panel has a formula, and a title of its own", () => {
  const all = panelGroups([batchKey(1), "gpu0_util.node:a"], ["blue"], "all", { cache: true, streams: true }).flatMap((group) => group.panels);
  expect(new Set(all.map((panel) => panel.title)).size).toBe(all.length);
  for (const panel of all) expect(panel.formula.length, panel.title).toBeGreaterThan(20);
});
