import { describe, expect, it } from "vitest";
import { HEAD_BYTES, headBytes, hexLines, labelsOf, prettyJson, readFailure, TEXT_BYTES, textOf, wantedKind } from "./preview";

describe("previews", () => {
  it.each([
    ["net/config.pbtxt", "config"],
    ["net/labels.txt", "labels"],
    ["net/names.txt", "text"],
    ["net/1/model.py", "text"],
    ["README", "text"],
    ["net/1/model.onnx", "onnx"],
    ["net/1/model.plan", "hex"],
    ["net/1/mean.npy", "npy"],
    ["net/tokenizer.JSON", "json"],
    ["a/cat.JPG", "image"],
  ])("%s is shown as %s", (path, kind) => {
    expect(wantedKind(path)).toBe(kind);
    expect(wantedKind("net/names.txt", ["net/names.txt"])).toBe("labels");
  });

  it("tell texts from bytes, also when a character is cut in half", () => {
    expect(textOf(new TextEncoder().encode("é").subarray(0, 1))).toBe("");
    expect(textOf(new TextEncoder().encode("grüße"))).toBe("grüße");
    expect(textOf(new Uint8Array([0x08, 0x00, 0x12]))).toBeNull();
    expect(textOf(new Uint8Array([0xff, 0xfe, 0x41]))).toBeNull();
  });

  it.each([
    ["text", 10, 10],
    ["onnx", 1e9, TEXT_BYTES],
    ["npy", 1e9, HEAD_BYTES],
    ["hex", 1e9, HEAD_BYTES],
  ] as const)("of %s with %i bytes read %i", (kind, size, read) => expect(headBytes(kind, size)).toBe(read));

  it.each([
    [404, /not in the store/],
    [401, /signed out/],
    [403, /role/],
    [502, /status 502/],
  ])("say what status %i means", (status, words) => expect(readFailure(status, "a/b.bin")).toMatch(words));

  it("break JSON into lines, unless that would change it", () => {
    expect(prettyJson('{"a":[1]}').text).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(prettyJson('{"a":9007199254740993}')).toEqual({ text: '{"a":9007199254740993}', problem: null });
    expect(prettyJson("{a}")).toMatchObject({ text: "{a}", problem: expect.stringContaining("Not valid JSON") as string });
  });

  it("show bytes sixteen to a line", () => {
    const lines = hexLines(new Uint8Array([...new TextEncoder().encode("ONNX model bytes"), 0, 255]));
    expect(lines).toEqual([
      { offset: "00000000", hex: "4f 4e 4e 58 20 6d 6f 64 65 6c 20 62 79 74 65 73", text: "ONNX model bytes" },
      { offset: "00000010", hex: "00 ff", text: ".." },
    ]);
  });

  it("count labels line by line", () => {
    expect(labelsOf("cat\r\n\r\ndog\n")).toEqual(["cat", "", "dog"]);
  });
});
