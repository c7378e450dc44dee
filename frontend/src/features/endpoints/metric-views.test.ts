/** A metric has one unit and one window, wherever it is shown. */
import { describe, expect, test } from "vitest";
import { batchKey, batchTimeKey } from "@/live/metric-keys";
import { METRICS, type MetricName } from "@/metrics/registry";
import { comparePanels, KINDS, panelsOf } from "./compare/compare";
import { overviewPanels, panelGroups, type Panel } from "./panels";
import { replicaGroups } from "./replica-panels";

const KEYS = [batchKey(1), batchTimeKey(1), "gpu0_util.node:n", "host_cpu.node:n"];
const SUBJECT = { keys: KEYS, deployments: ["blue", "green"], scope: "all" };
const OWNERS = [{ name: "blue", replicas: [{ id: "r", ordinal: 0 }] }];

const VIEWS: Record<string, Panel[]> = {
  overview: overviewPanels(SUBJECT),
  "metrics page": panelGroups(SUBJECT, () => true).flatMap((group) => group.panels),
  replicas: replicaGroups([{ deployment: "blue", id: "r" }], OWNERS).flatMap((group) => group.panels),
  ...Object.fromEntries(
    KINDS.map((kind) => [
      `comparison of ${kind}s`,
      comparePanels(
        kind,
        ["a"],
        panelsOf(kind).map(({ id }) => id),
        new Map([["a", [0]]]),
      ),
    ]),
  ),
};

/** `p95_us.blue`, `batch.8.all` and `gpu0_util.node:n` name their metrics before the first dot. */
function metricOf(key: string): MetricName {
  const name = key.slice(0, key.indexOf(".")).replace(/^gpu\d+_/, "gpu{index}_");
  if (!(name in METRICS)) throw new Error(`${key}: ${name} is not in the registry`);
  return name as MetricName;
}

describe.each(Object.entries(VIEWS))("%s", (_, panels) => {
  test.each(panels.map((panel) => [panel.title, panel] as const))(
    "%s: unit, window, levels and title are the registry's",
    (title, panel) => {
      expect(panel.lines).not.toEqual([]);
      for (const { key } of panel.lines) {
        const info = METRICS[metricOf(key)];
        expect(panel.unit, key).toBe(info.unit);
        expect(/Over (\d+) s/.exec(panel.formula)?.[1] ?? "0", key).toBe(String(info.window));
        if (new Set(panel.lines.map((line) => metricOf(line.key))).size > 1) continue;
        expect({ title, levels: panel.levels }).toEqual({
          title: "title" in info && info.title,
          levels: "levels" in info ? info.levels : undefined,
        });
      }
    },
  );
});

test("every metric with a panel of its own is shown somewhere", () => {
  const shown = new Set(Object.values(VIEWS).flatMap((panels) => panels.map((panel) => panel.title)));
  const own = Object.values(METRICS).flatMap((info) => ("title" in info ? [info.title] : []));
  expect(own.filter((title) => !shown.has(title))).toEqual([]);
});
