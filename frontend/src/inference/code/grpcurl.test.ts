import { describe, expect, it } from "vitest";
import type { BuiltInput } from "../tensor/built-input";
import { grpcRequest, grpcurl } from "./grpcurl";
import type { CodeTarget } from "./target";

const TARGET: CodeTarget = {
  endpoint: "digits",
  scoringUri: "https://127.0.0.1:8443/endpoints/digits/",
  grpcTarget: "127.0.0.1:8443",
  caPath: "/home/o'neil/ca.pem",
  deployment: null,
  model: "m",
  version: "",
  decoupled: false,
  parameters: {},
  outputs: [],
};
const input = (datatype: string, elements: BuiltInput["elements"], shape = [elements.length]): BuiltInput => ({
  name: "x",
  datatype,
  shape,
  elements,
  bytes: 0,
});
const request = (target: Partial<CodeTarget>, ...inputs: BuiltInput[]) =>
  JSON.parse(grpcRequest({ ...TARGET, ...target }, inputs)) as Record<string, unknown>;

describe("the request of grpcurl", () => {
  it.each<[string, BuiltInput["elements"], unknown]>([
    ["FP32", [0.5, NaN, -Infinity], { fp32_contents: [0.5, "NaN", "-Infinity"] }],
    ["INT64", ["9007199254740993", "1"], { int64_contents: ["9007199254740993", "1"] }],
    ["UINT8", [0, 255], { uint_contents: [0, 255] }],
    ["BOOL", [true, false], { bool_contents: [true, false] }],
    ["BYTES", ["a", new Uint8Array([255])], { bytes_contents: ["YQ==", "/w=="] }],
  ])("holds %s readably", (datatype, elements, contents) =>
    expect(request({}, input(datatype, elements))["inputs"]).toEqual([{ name: "x", datatype, shape: [elements.length], contents }]),
  );

  it("is raw for all inputs where one has no readable form", () => {
    const mixed = request({}, input("FP16", [1]), input("INT32", [7]));
    expect(mixed["raw_input_contents"]).toEqual(["ADw=", "BwAAAA=="]);
    expect(JSON.stringify(mixed["inputs"])).not.toContain("contents");
  });

  it("keeps version and sequence", () =>
    expect(request({ version: "3", parameters: { sequence_id: 7, sequence_start: true, tag: "a" } }, input("INT8", [1]))).toMatchObject({
      model_version: "3",
      parameters: { sequence_id: { int64_param: "7" }, sequence_start: { bool_param: true }, tag: { string_param: "a" } },
    }));
});

describe("the command of grpcurl", () => {
  it("names endpoint, deployment and certificate", () => {
    const code = grpcurl({ ...TARGET, deployment: "blue" }, [input("FP32", [1])]);
    expect(code).toContain("-H 'x-shoal-endpoint: digits'");
    expect(code).toContain("-H 'x-shoal-deployment: blue'");
    expect(code).toContain(`-cacert '/home/o'"'"'neil/ca.pem'`);
    expect(code).toContain("inference.GRPCInferenceService/ModelInfer\n");
  });
  it("streams where the model answers several times", () =>
    expect(grpcurl({ ...TARGET, decoupled: true }, [input("FP32", [1])])).toContain("/ModelStreamInfer"));
  it("reads large tensors from a file", () =>
    expect(grpcurl(TARGET, [input("FP32", new Float32Array(300))])).toMatch(/-d @ [^]*< grpc-request\.json/));
});
