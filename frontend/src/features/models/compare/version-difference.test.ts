import { describe, expect, it } from "vitest";
import type { ModelVersion } from "@/api/types";
import { configOf, contractDifferences, fileDifferences } from "./version-difference";

const file = (path: string, sha256 = "a") => ({ path, size: 1, sha256 });
const version = (part: Record<string, unknown> = {}, models: Record<string, unknown>[] = [{}]): ModelVersion =>
  ({
    config_revisions: [],
    repo_models: models.map((model) => ({
      name: "net",
      backend: "onnxruntime",
      platform: "",
      max_batch_size: 8,
      decoupled: false,
      inputs: [{ name: "x", datatype: "FP32", shape: [3] }],
      outputs: [],
      config_text: "",
      config_effective: "complete",
      ...model,
    })),
    ...part,
  }) as unknown as ModelVersion;

describe("two versions", () => {
  it("differ in files, what changed first", () => {
    const found = fileDifferences([file("a"), file("b"), file("c")], [file("b", "z"), file("c"), file("d")]);
    expect(found.map(({ path, change }) => [path, change])).toEqual([
      ["b", "changed"],
      ["d", "added"],
      ["a", "removed"],
      ["c", "same"],
    ]);
  });

  it("differ in what clients notice", () => {
    expect(contractDifferences(version(), version())).toEqual([]);
    const inputs = [
      { name: "x", datatype: "FP16", shape: [3] },
      { name: "y", datatype: "BOOL", shape: [1] },
    ];
    expect(contractDifferences(version(), version({}, [{ inputs, max_batch_size: 0 }, { name: "more" }]))).toEqual([
      "Model more is new.",
      "Input x FP32 [3] of net is now x FP16 [3].",
      "Input y BOOL [1] of net is new.",
      "The largest batch of net was 8, it is 0.",
    ]);
    expect(contractDifferences(version(), version({}, [{ inputs: [] }]))).toEqual(["Input x FP32 [3] of net is gone."]);
  });

  it("have the latest edit as configuration, else the file, else what was completed", () => {
    expect(configOf(version(), "net")).toBe("complete");
    expect(configOf(version({}, [{ config_text: "file" }]), "net")).toBe("file");
    const config_revisions = [
      { number: 2, configs: { net: "two" } },
      { number: 1, configs: { net: "one" } },
    ];
    expect(configOf(version({ config_revisions }, [{ config_text: "file" }]), "net")).toBe("two");
  });
});
