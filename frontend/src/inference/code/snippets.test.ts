import { describe, expect, it } from "vitest";
import type { BuiltInput } from "../tensor/built-input";
import { fileName, impossible, LANGUAGES, snippet } from "./snippets";
import type { CodeTarget } from "./target";

const TARGET: CodeTarget = {
  endpoint: "digits",
  scoringUri: "https://127.0.0.1:8443/endpoints/digits/",
  grpcTarget: "127.0.0.1:8443",
  caPath: "/home/o'neil/ca.pem",
  deployment: null,
  model: "a/b",
  version: "",
  decoupled: false,
  parameters: {},
  outputs: ["y:0"],
};
const input = (part: Partial<BuiltInput> = {}): BuiltInput => ({
  name: "x.1",
  datatype: "FP32",
  shape: [1, 2],
  elements: [0.5, -1],
  bytes: 8,
  ...part,
});

describe("code for the call in view", () => {
  it("is the same call in every language", () => {
    for (const language of LANGUAGES) {
      const code = snippet(language, TARGET, [input()]);
      expect(code).toContain("ENDPOINT_KEY");
      expect(code).toMatch(/0\.5, ?-1/);
      expect(impossible(language, TARGET, [input()])).toBeNull();
    }
    expect(snippet("curl", TARGET, [input()])).toContain("'https://127.0.0.1:8443/endpoints/digits/v2/models/a%2Fb/infer'");
    expect(snippet("curl", TARGET, [input()])).toContain(`'/home/o'"'"'neil/ca.pem'`);
    expect(snippet("python_http", TARGET, [input()])).toContain("dtype=np.float32).reshape([1,2])");
    expect(snippet("python_http", TARGET, [input()])).toContain('"127.0.0.1:8443/endpoints/digits"');
  });

  it("pins deployments and versions, and keeps the sequence", () => {
    const target = {
      ...TARGET,
      deployment: "blue",
      version: "3",
      parameters: { sequence_id: 7, sequence_start: true, sequence_end: false },
    };
    expect(snippet("curl", target, [input()])).toContain('-H "x-shoal-deployment: blue"');
    expect(snippet("curl", target, [input()])).toContain("/versions/3/infer");
    expect(snippet("curl", target, [input()])).toContain('"parameters": {"sequence_id":7,"sequence_start":true,"sequence_end":false}');
    expect(snippet("python_grpc", target, [input()])).toContain(
      'model_version="3", sequence_id=7, sequence_start=True, sequence_end=False',
    );
  });

  it("names no certificate where the machine's own trust is enough", () => {
    for (const language of LANGUAGES) {
      const code = snippet(language, { ...TARGET, caPath: "" }, [input()]);
      expect(code).not.toMatch(/cacert|ca_certs|root_certificates|verify=|NODE_EXTRA_CA_CERTS|\(\s*,/);
    }
  });

  it("reads large tensors from files", () => {
    const large = input({ name: "a/b:0", shape: [1, 300], elements: new Float32Array(300) });
    expect(snippet("python_http", TARGET, [large])).toContain('np.load("a_b_0.npy")');
    expect(snippet("curl", TARGET, [large])).toContain("-d @request.json");
    expect(snippet("javascript", TARGET, [large])).toContain('readFile("request.json", "utf8")');
    expect(fileName(large, "npy")).toBe("a_b_0.npy");
  });

  it("streams where the model answers several times", () => {
    const target = { ...TARGET, decoupled: true };
    expect(snippet("python_grpc", target, [input()])).toContain("async_stream_infer");
    expect(impossible("curl", target, [input()])).toContain("gRPC stream");
    expect(impossible("python_grpc", target, [input()])).toBeNull();
  });

  it("does not write what JSON cannot carry", () => {
    for (const bad of [
      input({ datatype: "FP16" }),
      input({ elements: [NaN, 1] }),
      input({ datatype: "BYTES", elements: [new Uint8Array([255]), "a"] }),
    ]) {
      expect(impossible("curl", TARGET, [bad])).toContain("binary");
      expect(impossible("python_grpc", TARGET, [bad])).toBeNull();
    }
    const big = input({ datatype: "INT64", elements: ["9007199254740993", "1"] });
    expect(impossible("javascript", TARGET, [big])).toContain("2^53");
    expect(snippet("curl", TARGET, [big])).toContain("9007199254740993");
    expect(snippet("python_grpc", TARGET, [input({ elements: [NaN, -Infinity] })])).toContain('float("nan"), float("-inf")');
    expect(snippet("python_grpc", TARGET, [input({ datatype: "BYTES", elements: ['a "b"', new Uint8Array([1, 255])] })])).toContain(
      '"a \\"b\\"".encode(), bytes.fromhex("01ff")',
    );
  });
});
