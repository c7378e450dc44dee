import { describe, expect, it } from "vitest";
import type { Endpoint, NodeItem } from "@/api/types";
import { choices, chosenIds, chosenPanels, comparePanels, devicesOf, KINDS, metricsOf, MOST, panelsOf } from "./compare";

const endpoint = (name: string, deployments: string[], repo_models: string[]) =>
  ({ name, deployments: deployments.map((one) => ({ name: one })), models: [{ name, version: 1, repo_models }] }) as unknown as Endpoint;
const ENDPOINTS = [endpoint("b", ["green", "blue"], ["net", "pre"]), endpoint("a", ["blue"], ["net"])];
const node = (name: string, gpus: number[]) => ({ name, info: { gpus: gpus.map((index) => ({ index })) } });
const NODES = [node("n2", [0, 1]), node("n1", [])] as unknown as NodeItem[];
const DEVICES = devicesOf(NODES);

describe("comparison of metrics", () => {
  it.each([
    ["deployment", ["a/blue", "b/blue", "b/green"]],
    ["endpoint", ["a", "b"]],
    ["model", ["net", "pre"]],
    ["node", ["n1", "n2"]],
  ] as const)("offers every %s", (kind, expected) => {
    expect(choices(kind, ENDPOINTS, NODES)).toEqual(expected);
  });

  it.each([
    [undefined, []],
    ["", []],
    ["a/blue,,a/blue,b/green", ["a/blue", "b/green"]],
    ["a,a/b/c,a/blue", ["a/blue"]],
    [Array.from({ length: 20 }, (_, index) => `e/${index}`).join(","), Array.from({ length: MOST }, (_, index) => `e/${index}`)],
  ])("reads the things of a link: %s", (text, expected) => {
    expect(chosenIds("deployment", text)).toEqual(expected);
  });

  it("keeps the panels that there are, in their order; none are all", () => {
    expect(chosenPanels("node", "disk,nonsense,host-cpu")).toEqual(["host-cpu", "disk"]);
    expect(chosenPanels("node", "nonsense")).toEqual(["host-cpu", "host-memory", "disk", "gpu", "gpu-memory"]);
    expect(chosenPanels("model", undefined)).not.toContain("p95");
    // The runtimes' rate also where it is not drawn: gaps are told by it.
    expect(metricsOf("endpoint", ["e"], ["p95", "requests"], DEVICES)).toEqual(["answer_rate", "p95_us", "request_rate"]);
    expect(metricsOf("endpoint", ["e"], ["p95"], DEVICES)).toEqual(["p95_us", "request_rate"]);
    expect(metricsOf("model", ["m"], ["runtime-requests"], DEVICES)).toEqual(["request_rate"]);
  });

  it("draws one line for each thing, told apart, in every panel", () => {
    const ids = Array.from({ length: MOST }, (_, index) => `e${index}`);
    for (const kind of KINDS) {
      const panels = comparePanels(
        kind,
        ids,
        panelsOf(kind).map((panel) => panel.id),
        DEVICES,
      );
      expect(panels.length).toBeGreaterThan(2);
      expect(new Set(panels.map((panel) => panel.title)).size).toBe(panels.length);
      for (const panel of panels) {
        expect(panel.lines.map((line) => line.label)).toEqual(ids);
        expect(new Set(panel.lines.map((line) => `${line.color} ${line.dash ?? ""}`)).size).toBe(MOST);
      }
    }
    expect(comparePanels("deployment", ["a/blue"], ["p95"], DEVICES)[0]?.lines[0]?.key).toBe("p95_us.deployment/a/blue");
  });

  it("draws one line for each GPU of a node, and none for a node without", () => {
    expect(metricsOf("node", ["n1", "n2"], ["host-cpu", "gpu"], DEVICES)).toEqual(["host_cpu", "gpu0_util", "gpu1_util"]);
    const [gpu] = comparePanels("node", ["n1", "n2"], ["gpu"], DEVICES);
    expect(gpu?.lines.map(({ key, label }) => [key, label])).toEqual([
      ["gpu0_util.node/n2", "n2 GPU 0"],
      ["gpu1_util.node/n2", "n2 GPU 1"],
    ]);
    expect(comparePanels("node", ["n1"], ["gpu", "disk"], DEVICES).map((panel) => panel.id)).toEqual(["disk"]);
    expect(metricsOf("node", ["n1"], ["gpu"], DEVICES)).toEqual([]);
  });
});
