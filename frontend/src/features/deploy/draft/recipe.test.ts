import { describe, expect, it } from "vitest";
import type { ModelVersion } from "@/api/types";
import type { DeploySource } from "../config/source";
import { deployRecipe } from "./recipe";
import { EMPTY_DRAFT, firstForm, formOf } from "./draft";
import { keeps } from "./start-deploy";

const source: DeploySource = {
  kind: "upload",
  filename: "digits.onnx",
  size: 1,
  uploadId: "u1",
  registered: null,
  configErrors: 0,
  code: { state: "none", reasons: [], approved_by: null, approved_at: null },
  lineage: null,
  models: [],
};
const form = firstForm(source, { endpoint: null, deployment: null });

describe("a deployment as code", () => {
  it("of a fresh upload registers first", () => {
    const recipe = deployRecipe(source, form);
    expect(recipe.cli?.map((line) => line.slice(0, 3).join(" "))).toEqual([
      "shoal model create",
      "shoal online-endpoint create",
      "shoal online-deployment create",
    ]);
    expect(recipe.cli?.at(-1)).toContain("--all-traffic");
    expect(recipe.api?.map((call) => call.path)).toEqual(["/api/v1/models", "/api/v1/deploy"]);
    expect(recipe.api?.at(-1)?.body).toMatchObject({ endpoint: "digits", deployment: "blue", traffic: 100 });
    expect(recipe.yaml?.map((file) => file.name)).toEqual(["endpoint.yml", "blue.yml"]);
  });

  it("says where the file comes from, where somebody stated it", () => {
    const stated = { ...form, lineage: { ...form.lineage, commit: " c0ffee ", run_url: "https://runs.test/7" } };
    const recipe = deployRecipe(source, stated);
    expect(recipe.cli?.[0]?.slice(-4)).toEqual(["--run-url", "https://runs.test/7", "--commit", "c0ffee"]);
    expect(recipe.api?.[0]?.body).toEqual({
      name: "digits",
      upload_id: "u1",
      lineage: { run_url: "https://runs.test/7", commit: "c0ffee" },
    });
  });

  it("knows when a version that was there keeps what it said", () => {
    const lineage = { run: "7", commit: "" } as NonNullable<ModelVersion["lineage"]>;
    expect(keeps({ lineage }, { run: "7" })).toBe(true);
    expect(keeps({ lineage: null })).toBe(true);
    expect(keeps({ lineage }, { run: "8" })).toBe(false);
    expect(keeps({ lineage: null }, { commit: "c0ffee" })).toBe(false);
  });

  it("of a registered version to an endpoint that is there only deploys", () => {
    const version = { ...source, registered: { model: "digits", version: 3, revision: 2 } };
    const beside = firstForm(version, { endpoint: "prod", deployment: null });
    const recipe = deployRecipe(version, beside);
    expect(recipe.cli).toEqual([["shoal", "online-deployment", "create", "-f", "green.yml"]]);
    expect(recipe.api).toMatchObject([
      { path: "/api/v1/deploy", body: { model: "digits", version: 3, config_revision: 2, traffic: 0, endpoint: "prod" } },
    ]);
    expect(recipe.yaml).toMatchObject([{ name: "green.yml", document: { model: "azureml:digits:3" } }]);
    const staged = deployRecipe(version, { ...beside, traffic: { ...beside.traffic, way: "rollout" } });
    expect(staged.cli?.at(-1)?.slice(4).join(" ")).toBe("green.yml --rollout --steps 1:300,10:300,50:300,100:0 --min-requests 200");
    const body = staged.api?.at(-1)?.body;
    expect(body).toMatchObject({ rollout: { min_requests: 200 } });
    expect(body).not.toHaveProperty("traffic");
    const shared = deployRecipe(version, { ...beside, traffic: { ...beside.traffic, way: "share" } });
    expect(shared.yaml?.[0]?.command).toEqual(["shoal", "online-deployment", "create", "-f", "green.yml", "--traffic", "10"]);
  });

  it("of a draft of before there was a choice is deployed as it said", () => {
    const version = { ...source, registered: { model: "digits", version: 3, revision: 2 } };
    const kept = { ...EMPTY_DRAFT, endpoint: "prod", form: { takeTraffic: true } };
    expect(deployRecipe(version, formOf(version, kept)).cli?.at(-1)).toContain("--all-traffic");
  });
});
