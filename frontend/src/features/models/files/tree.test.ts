import { describe, expect, it } from "vitest";
import { treeMove, treeRows } from "./tree";

const file = (path: string, size = 1) => ({ path, size, sha256: "0" });
const FILES = [
  file("net/1/model.onnx", 10),
  file("net/10/model.onnx"),
  file("net/2/model.onnx"),
  file("net/config.pbtxt", 2),
  file("README"),
];

describe("the tree of files", () => {
  it("has folders first, numbers in order, and sizes of what is below", () => {
    const rows = treeRows(FILES, new Set(["net/2"]));
    expect(rows.map(({ path, depth }) => `${depth} ${path}`)).toEqual([
      "0 net",
      "1 net/1",
      "2 net/1/model.onnx",
      "1 net/2",
      "1 net/10",
      "2 net/10/model.onnx",
      "1 net/config.pbtxt",
      "0 README",
    ]);
    expect(rows[0]).toMatchObject({ size: 14, open: true, name: "net" });
    expect(rows[3]?.open).toBe(false);
  });

  it("is walked by keys", () => {
    const rows = treeRows(FILES, new Set(["net/2"]));
    const move = (path: string, key: string) => treeMove(rows, path, key);
    expect(move("net", "ArrowDown")).toEqual({ kind: "focus", path: "net/1" });
    expect(move("net", "ArrowRight")).toEqual({ kind: "focus", path: "net/1" });
    expect(move("net/2", "ArrowRight")).toEqual({ kind: "toggle", path: "net/2" });
    expect(move("net/1/model.onnx", "ArrowLeft")).toEqual({ kind: "focus", path: "net/1" });
    expect(move("net", "ArrowLeft")).toEqual({ kind: "toggle", path: "net" });
    expect(move("net/config.pbtxt", "Enter")).toEqual({ kind: "open", path: "net/config.pbtxt" });
    expect(move("README", "ArrowDown")).toBeNull();
    expect(move("README", "Home")).toEqual({ kind: "focus", path: "net" });
    expect(move("gone", "ArrowDown")).toEqual({ kind: "focus", path: "net" });
    expect(move("net", "x")).toBeNull();
  });
});
