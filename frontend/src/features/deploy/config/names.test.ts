import { describe, expect, it } from "vitest";
import { endpointNameProblem, freeModelName, modelNameProblem, signature, suggestDeployment, suggestEndpoint } from "./names";
import { changedConfigs, type SourceModel } from "./source";

describe("endpoint names", () => {
  it.each(["abc", "resnet50-prod", "A-1", "x".repeat(32)])("take %s", (name) => {
    expect(endpointNameProblem(name)).toBeNull();
  });
  it.each(["", "ab", "1ab", "ab-", "a b", "a.b", "x".repeat(33)])("refuse '%s'", (name) => {
    expect(endpointNameProblem(name)).not.toBeNull();
  });
  it.each(["resnet50", "1_odd.name-", "日本", "x", "a".repeat(60), "a.b/c:0"])("are suggested from '%s'", (model) => {
    expect(endpointNameProblem(suggestEndpoint(model))).toBeNull();
  });
});

describe("deployment names", () => {
  it("go blue, green, numbered", () => {
    expect(suggestDeployment([])).toBe("blue");
    expect(suggestDeployment(["blue"])).toBe("green");
    expect(suggestDeployment(["green"])).toBe("blue");
    expect(suggestDeployment(["blue", "green", "blue-3"])).toBe("blue-4");
  });
});

describe("model names", () => {
  it("may hold dots and underscores, but no slash", () => {
    expect(modelNameProblem("a.b_c-1")).toBeNull();
    expect(modelNameProblem("a/b")).not.toBeNull();
    expect(modelNameProblem(".a")).not.toBeNull();
    expect(modelNameProblem("")).not.toBeNull();
  });
});

describe("changedConfigs", () => {
  const model = (name: string, startText: string) => ({ name, startText, proposal: null, written: false }) as unknown as SourceModel;
  it("sends only what was edited, under names with any characters", () => {
    expect(changedConfigs([model("a.b", "x"), model("c/d:0", "y")], ["x", "z"])).toEqual({ "c/d:0": "z" });
  });

  it("sends a guess that was left as it is: the server takes no guess by itself", () => {
    const guess = { ...model("scripted", "dims: [ -1 ]"), proposal: { text: "dims: [ -1 ]", certain: false } };
    expect(changedConfigs([guess], ["dims: [ -1 ]"])).toEqual({ scripted: "dims: [ -1 ]" });
    expect(changedConfigs([{ ...guess, written: true }], ["dims: [ -1 ]"])).toEqual({});
    expect(changedConfigs([{ ...guess, proposal: { text: "dims: [ -1 ]", certain: true } }], ["dims: [ -1 ]"])).toEqual({});
  });
});

describe("models of one name", () => {
  const x = { name: "x", datatype: "FP32", shape: [4] };
  const y = { name: "y", datatype: "FP32", shape: [-1, 2] };
  it("are told apart by what they take and give, not by order or by their own name", () => {
    const one = { name: "a", inputs: [x, y], outputs: [y] };
    expect(signature([one])).toBe("x FP32 [4], y FP32 [-1, 2] → y FP32 [-1, 2]");
    expect(signature([{ name: "b", inputs: [y, x], outputs: [y] }])).toBe(signature([one]));
    expect(signature([{ ...one, inputs: [{ ...x, shape: [5] }, y] }])).not.toBe(signature([one]));
    expect(signature([one, { ...one, name: "b" }])).not.toBe(signature([one, { ...one, name: "c" }]));
  });
  it("get the first number that is free", () => {
    expect(freeModelName("model", ["models"])).toBe("model");
    expect(freeModelName("model", ["model", "model-2"])).toBe("model-3");
  });
});
