import { describe, expect, it } from "vitest";
import type { Deployment, Endpoint, Model, NodeItem, Operation } from "@/api/types";
import { endpointActions, endpointItems, generalActions, modelActions, nodeActions, operationActions, settingsItems } from "./items";

const deployment = (name: string, over: Partial<Deployment> = {}) => ({ name, paused: false, ...over }) as Deployment;
const endpoint = (over: Partial<Endpoint> = {}) =>
  ({
    name: "digits",
    serving_state: "Healthy",
    auth_mode: "key",
    scoring_uri: "https://g/endpoints/digits",
    deployments: [deployment("blue"), deployment("green")],
    ...over,
  }) as Endpoint;
const node = (over: Partial<NodeItem> = {}) => ({ name: "gpu-a1", cordoned: false, drain: null, ...over }) as NodeItem;
const labels = (items: { label: string }[]) => items.map(({ label }) => label);

describe("what can be done with an endpoint", () => {
  it("is every change of its deployments, its traffic and its keys", () => {
    expect(labels(endpointActions([endpoint({ deployments: [deployment("blue"), deployment("green")] })]))).toEqual([
      "Copy the scoring URL of digits",
      "Shift the traffic of digits",
      "Deploy to digits",
      "Keys of digits",
      "Regenerate the primary key of digits",
      "Regenerate the secondary key of digits",
      ...["blue", "green"].flatMap((name) => ["Restart", "Pause", "Scale", "Update", "Delete"].map((verb) => `${verb} ${name} of digits`)),
    ]);
  });
  it("has no traffic to shift between one deployment", () =>
    expect(labels(endpointActions([endpoint({ deployments: [deployment("blue")] })]))).not.toContain("Shift the traffic of digits"));
  it("starts what is paused, and does not pause it again", () => {
    const found = labels(endpointActions([endpoint({ deployments: [deployment("blue", { paused: true })] })]));
    expect(found).toContain("Start blue of digits");
    expect(found).not.toContain("Pause blue of digits");
    expect(found).not.toContain("Restart blue of digits");
  });
  it("has no keys to rotate where tokens open it", () => {
    const found = labels(endpointActions([endpoint({ auth_mode: "aml_token" })]));
    expect(found).toContain("Make a token for digits");
    expect(found.filter((label) => label.startsWith("Regenerate"))).toEqual([]);
  });
  it("copies what the server calls the scoring URL", () =>
    expect(endpointActions([endpoint()])[0]?.act).toEqual({
      kind: "copy",
      text: "https://g/endpoints/digits",
      what: "The scoring URL of digits",
    }));
});

describe("what needs a role", () => {
  const needs = (items: { label: string; needs?: string }[]) => new Map(items.map((item) => [item.label, item.needs]));
  it("says which, as the pages do", () => {
    const all = needs([...endpointActions([endpoint()]), ...nodeActions([node()]), ...generalActions("http://h/"), ...settingsItems()]);
    expect(all.get("Restart blue of digits")).toBe("deploy");
    expect(all.get("Shift the traffic of digits")).toBe("deploy");
    expect(all.get("Regenerate the primary key of digits")).toBe("keys");
    expect(all.get("Cordon gpu-a1")).toBe("operate");
    expect(all.get("Drain gpu-a1")).toBe("operate");
    expect(all.get("Join a node")).toBe("operate");
    expect(all.get("Deploy a model")).toBe("deploy");
    expect(all.get("Users and roles")).toBe("administer");
    expect(all.get("Copy the scoring URL of digits")).toBeUndefined();
  });
});

describe("nodes, models and operations", () => {
  it("uncordons what is cordoned", () => expect(labels(nodeActions([node({ cordoned: true })]))[0]).toBe("Uncordon gpu-a1"));
  it("drains nothing twice", () => {
    const draining = { started_at: "", deadline_at: "", done: false };
    expect(labels(nodeActions([node({ drain: draining })]))).toEqual(["Cordon gpu-a1"]);
  });
  it("deploys the newest version, of what is not archived", () => {
    const models = [
      { name: "a", latest_version: 3 },
      { name: "b", latest_version: null },
      { name: "c", latest_version: 1, archived: true },
    ] as Model[];
    expect(labels(modelActions(models))).toEqual(["Deploy a v3"]);
  });
  it("cancels only what is under way", () => {
    const rows = [
      { id: "1", kind: "deploy", endpoint: "digits", deployment: "blue", state: "Running" },
      { id: "2", kind: "deploy", endpoint: "digits", deployment: "green", state: "Failed" },
    ] as Operation[];
    expect(labels(operationActions(rows))).toEqual(["Cancel: Deploy digits / blue"]);
  });
  it("names each item once", () => {
    const ids = [
      ...endpointItems([endpoint()]),
      ...endpointActions([endpoint()]),
      ...nodeActions([node()]),
      ...generalActions(""),
      ...settingsItems(),
    ].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
