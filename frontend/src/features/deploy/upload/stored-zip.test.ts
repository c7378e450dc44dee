import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { crc32, crc32Of } from "./crc32";
import { storedZip } from "./stored-zip";

const text = (value: string) => new TextEncoder().encode(value);

describe("CRC-32", () => {
  it.each([
    ["", 0],
    ["123456789", 0xcbf43926],
    ["The quick brown fox jumps over the lazy dog", 0x414fa339],
  ])("of %j", (value, crc) => expect(crc32(text(value))).toBe(crc));

  it("is the same in pieces", () => {
    const [first, second] = [text("1234"), text("56789")];
    expect(crc32(second, crc32(first))).toBe(0xcbf43926);
  });
});

describe("an archive without compression", () => {
  const build = async (files: Record<string, string>) =>
    storedZip(
      await Promise.all(
        Object.entries(files).map(async ([path, content]) => {
          const blob = new Blob([content]);
          return { path, blob, crc: await crc32Of(blob, () => undefined) };
        }),
      ),
    );

  it("is read by Python's zipfile, names in UTF-8 and checksums right", async () => {
    const zip = await build({ "repo/a/1/model.onnx": "graph", "repo/größe.txt": "x".repeat(70_000), empty: "" });
    const path = join(mkdtempSync(join(tmpdir(), "zip-")), "packed.zip");
    writeFileSync(path, new Uint8Array(await zip.arrayBuffer()));
    const program =
      "import json,sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n" +
      "print(json.dumps({i.filename: len(z.read(i)) for i in z.infolist()}))";
    const read = execFileSync("python3", ["-c", program, path], { encoding: "utf8" });
    expect(JSON.parse(read)).toEqual({ "repo/a/1/model.onnx": 5, "repo/größe.txt": 70_000, empty: 0 });
    expect(readFileSync(path).byteLength).toBe(zip.size);
  });

  it("is the same whatever the order of the files, so that an upload can be resumed", async () => {
    const [one, two] = [await build({ a: "1", b: "2" }), await build({ b: "2", a: "1" })];
    expect(new Uint8Array(await one.arrayBuffer())).toEqual(new Uint8Array(await two.arrayBuffer()));
  });
});
