import { describe, expect, it } from "vitest";
import type { Dropped } from "@/app/dropped-files";
import { modelNameFrom, refusal, selectionOf } from "./accepted-files";

const dropped = (path: string, size = 10): Dropped => ({
  path,
  file: { name: path.split("/").at(-1) ?? "", size } as File,
});

describe("which files are taken", () => {
  it.each([
    ["resnet50.ONNX", null],
    ["repo.zip", null],
    ["repo.tar.gz", null],
    ["model.pt", null],
    ["model.plan", null],
    ["model.py", null],
    ["weights.safetensors", /weights without a graph/],
    ["model.pkl", /run code/],
    ["repo.7z", /\.zip/],
  ])("%s", (filename, reason) => {
    const told = refusal(filename, 10);
    if (reason === null) expect(told).toBeNull();
    else expect(told).toMatch(reason);
  });

  it("says that a file is empty", () => expect(refusal("model.onnx", 0)).toMatch(/empty/));
});

describe("what was dropped becomes one upload", () => {
  it("sends a single file as it is", () => {
    const selection = selectionOf([dropped("digits.onnx")]);
    expect(selection).toMatchObject({ kind: "file", file: { name: "digits.onnx" } });
  });
  it("packs a graph with its external data under the graph's name", () => {
    const selection = selectionOf([dropped("weights.bin", 900), dropped("digits.onnx", 100)]);
    expect(selection).toMatchObject({ kind: "pack", name: "digits.zip", size: 1000 });
  });
  it("packs a folder under its name, without what file managers leave", () => {
    const selection = selectionOf([
      dropped("repo/a/1/model.onnx"),
      dropped("repo/a/config.pbtxt"),
      dropped("repo/.DS_Store"),
      dropped("repo/a/1/__pycache__/x.pyc"),
    ]);
    expect(selection).toMatchObject({ kind: "pack", name: "repo.zip" });
    expect(selection.kind === "pack" && selection.files.map(({ path }) => path)).toEqual(["repo/a/1/model.onnx", "repo/a/config.pbtxt"]);
  });
  it("packs one file in a folder, so that the folder is not lost", () => {
    expect(selectionOf([dropped("digits/model.py")])).toMatchObject({ kind: "pack", name: "digits.zip" });
  });
  it("refuses what the archive cannot hold", () => {
    const selection = selectionOf([dropped("a.onnx", 3 * 2 ** 30), dropped("a.onnx.data", 3 * 2 ** 30)]);
    expect(selection).toMatchObject({ kind: "refused" });
  });
  it("says so when there is nothing", () => {
    expect(selectionOf([])).toMatchObject({ kind: "refused" });
    expect(selectionOf([dropped(".DS_Store")])).toMatchObject({ kind: "refused" });
  });
});

describe("a first name for the model", () => {
  it.each([
    ["resnet50-v2.onnx", "resnet50-v2"],
    ["C:\\models\\Größe 3.onnx", "Gro-e-3"],
    ["repo.tar.gz", "repo"],
    ["net.pt", "net"],
    ["....onnx", "model"],
  ])("%s", (filename, name) => expect(modelNameFrom(filename)).toBe(name));
});
