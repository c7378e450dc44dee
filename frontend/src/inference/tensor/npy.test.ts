import { describe, expect, it } from "vitest";
import { readFile, readFiles } from "./files";
import { npyBytes, readNpy } from "./npy";
import { fromBase64 } from "./raw-bytes";

/** Made by numpy.save: [[1, 2, 3], [4, 5, 6]] as '>i2' in column order. */
const FORTRAN = npyOf("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", [0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);

function npyOf(words: string, data: number[], version = 1): Uint8Array {
  const header = new TextEncoder().encode(`${words}\n`);
  const length = version === 1 ? [header.length & 255, header.length >> 8] : [header.length & 255, header.length >> 8, 0, 0];
  return new Uint8Array([0x93, ...new TextEncoder().encode("NUMPY"), version, 0, ...length, ...header, ...data]);
}

describe("npy", () => {
  it.each([
    ["FP32", [2, 2], [1, 2, 3, NaN]],
    ["INT64", [2], ["9007199254740993", "-1"]],
    ["BOOL", [1, 1], [true]],
    ["FP16", [3], [0.5, -2, 65504]],
    ["UINT8", [], [7]],
  ])("goes there and back: %s %j", (datatype, shape, elements) => {
    const bytes = npyBytes(datatype, shape, elements);
    if (bytes === null) throw new Error("NumPy has this type");
    expect(readNpy(bytes)).toEqual({ datatype, shape, elements });
    expect(bytes.indexOf(0x0a) % 64).toBe(63);
  });

  it("writes what numpy writes", () => {
    // numpy.save(f, numpy.array([1.5], numpy.float32))
    const theirs = fromBase64(
      `k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAMA/`,
    );
    expect(npyBytes("FP32", [1], [1.5])?.subarray(-5)).toEqual(theirs.subarray(-5));
    expect(readNpy(theirs)).toEqual({ datatype: "FP32", shape: [1], elements: [1.5] });
  });

  it("reads column order, big-endian values, texts and long headers", () => {
    expect(readNpy(FORTRAN)).toEqual({ datatype: "INT16", shape: [2, 3], elements: [1, 2, 3, 4, 5, 6] });
    expect(readNpy(npyOf("{'descr': '|S2', 'fortran_order': False, 'shape': (2,), }", [97, 0, 98, 99])).elements).toEqual(["a", "bc"]);
    expect(readNpy(npyOf("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", [233, 0, 0, 0])).elements).toEqual(["é"]);
    expect(readNpy(npyOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", [9], 2)).elements).toEqual([9]);
  });

  it.each([
    [new Uint8Array([1, 2, 3]), "not an .npy"],
    [npyOf("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", []), "'<c8'"],
    [npyOf("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", []), "Structured"],
    [npyOf("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", [1, 0, 0, 0]), "cut short"],
  ])("says what it cannot read", (bytes, words) => {
    expect(() => readNpy(bytes)).toThrow(words);
  });

  it("stores BF16 as FP32, and texts not at all", () => {
    const bytes = npyBytes("BF16", [1], [1.5]);
    expect(bytes && readNpy(bytes)).toEqual({ datatype: "FP32", shape: [1], elements: [1.5] });
    expect(npyBytes("BYTES", [1], ["a"])).toBeNull();
  });
});

describe("files", () => {
  const text = (words: string) => new TextEncoder().encode(words);
  it("converts what fits the type, and says so", () => {
    expect(readFile("a.npy", FORTRAN, "FP32")).toEqual({
      ok: true,
      data: { elements: [1, 2, 3, 4, 5, 6], shape: [2, 3], note: ".npy of INT16, converted" },
    });
    const negative = npyBytes("INT8", [1], [-1]);
    expect(negative && readFile("a.npy", negative, "UINT8")).toEqual({ ok: false, error: "value 1: -1 is outside UINT8 (0 to 255)" });
  });

  it("reads JSON, CSV and raw values", () => {
    expect(readFile("a.json", text("[[1, 2]]"), "INT8")).toMatchObject({ data: { shape: [1, 2], note: "JSON" } });
    expect(readFile("a.csv", text("1,2\n3,4\n"), "FP32")).toMatchObject({ data: { elements: [1, 2, 3, 4], shape: null } });
    expect(readFile("a.bin", new Uint8Array([1, 0, 2, 0]), "INT16")).toMatchObject({ data: { elements: [1, 2] } });
    expect(readFile("a.bin", new Uint8Array([1]), "INT16")).toMatchObject({ ok: false });
  });

  it("takes files as the items of a text tensor", () => {
    const jpeg = new Uint8Array([0xff, 0xd8]);
    expect(
      readFiles(
        [
          { name: "a.jpg", bytes: jpeg },
          { name: "b.txt", bytes: text("hello") },
        ],
        "BYTES",
      ),
    ).toEqual({
      ok: true,
      data: { elements: [jpeg, "hello"], shape: null, note: "2 files" },
    });
  });
});
