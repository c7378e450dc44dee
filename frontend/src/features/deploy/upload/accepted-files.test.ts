import { describe, expect, it } from "vitest";
import { modelNameFrom, refusal, refusalOfSelection } from "./accepted-files";

describe("refusal", () => {
  it("takes ONNX files and zips whatever the case of their ending", () => {
    expect(refusal("a.onnx", 1)).toBeNull();
    expect(refusal("Repo.ZIP", 1)).toBeNull();
  });

  it.each([
    ["net.pt", "torch.onnx.export"],
    ["net.plan", "TensorRT"],
    ["net.safetensors", "weights"],
    ["repo.tar.gz", ".zip"],
    ["clf.pkl", "run code"],
    ["notes.txt", "ONNX model (.onnx)"],
  ])("says why not %s", (name, words) => {
    expect(refusal(name, 1)).toContain(words);
  });

  it("refuses empty files and several at once", () => {
    expect(refusal("a.onnx", 0)).toContain("empty");
    expect(
      refusalOfSelection([
        { name: "a.onnx", size: 1 },
        { name: "b.onnx", size: 1 },
      ]),
    ).toContain("one file");
    expect(refusalOfSelection([])).toContain("folder");
  });
});

describe("modelNameFrom", () => {
  it("folds what a name may not hold", () => {
    expect(modelNameFrom("resnet50-v2.onnx")).toBe("resnet50-v2");
    expect(modelNameFrom("C:\\models\\Mon modèle (1).onnx")).toBe("Mon-modele-1");
    expect(modelNameFrom("....onnx")).toBe("model");
  });
});
