import { describe, expect, it } from "vitest";
import { parseExactly } from "../socket/exact-json";
import { parseElement } from "./datatypes";
import { readPasted } from "./pasted-data";
import { base64, bfloatBits, fromBase64, halfBits, halfValue, rawBytes, readRaw, tensorBytes, wireData } from "./raw-bytes";
import { fillElements, newFill } from "./samples";
import { dimsOf, elementCount, resolveAxes, shapeDifference, shapeText } from "./shape";

describe("shapes", () => {
  it("counts and writes them", () => {
    expect(elementCount([])).toBe(1);
    expect(elementCount([1, 3, 224, 224])).toBe(150_528);
    expect(shapeText([1, 3, 224, 224])).toBe("1 × 3 × 224 × 224");
    expect(shapeText([-1, 4])).toBe("-1 (any) × 4");
    expect(dimsOf(["batch", "3", 4, -1])).toEqual([-1, 3, 4, -1]);
  });

  it("names the axis that differs", () => {
    expect(shapeDifference([3, 224, 223], [3, 224, 224])).toBe("3 × 224 × 223 sent, 3 × 224 × 224 expected (axis 3)");
    expect(shapeDifference([3], [3, 1])).toBe("3 sent, 3 × 1 expected (1 axes instead of 2)");
    expect(shapeDifference([7, 2], [-1, 2])).toBeNull();
  });

  it("resolves variable axes only from whole numbers", () => {
    expect(resolveAxes([-1, 4, -1], { 0: "2", 2: "5" })).toEqual([2, 4, 5]);
    expect(resolveAxes([-1, 4], {})).toBeNull();
    expect(resolveAxes([-1], { 0: "-3" })).toBeNull();
    expect(resolveAxes([-1], { 0: "1.5" })).toBeNull();
  });
});

describe("parseElement", () => {
  it.each([
    ["INT8", "-128", -128],
    ["INT64", "9223372036854775807", "9223372036854775807"],
    ["UINT64", "18446744073709551615", "18446744073709551615"],
    ["INT32", "1e3", 1000],
    ["FP32", " -1.5e-3 ", -0.0015],
    ["FP64", "-inf", -Infinity],
    ["BOOL", "TRUE", true],
    ["BOOL", "0", false],
    ["BYTES", " kept ", " kept "],
  ])("%s takes %s", (datatype, text, value) => {
    expect(parseElement(datatype, text)).toEqual({ value, error: null });
  });

  it.each([
    ["INT8", "128", "-128 to 127"],
    ["UINT8", "-1", "0 to 255"],
    ["INT64", "9223372036854775808", "9223372036854775807"],
    ["INT32", "1.5", "whole number"],
    ["INT32", "", "whole number"],
    ["FP32", "", "not a number"],
    ["FP32", "1,5", "not a number"],
    ["FP16", "70000", "too large"],
    ["BOOL", "maybe", "neither"],
  ])("%s refuses %s", (datatype, text, words) => {
    expect(parseElement(datatype, text).error).toContain(words);
  });

  it("takes NaN for floats only", () => {
    expect(parseElement("FP32", "NaN").value).toBeNaN();
    expect(parseElement("INT32", "NaN").error).not.toBeNull();
  });
});

describe("readPasted", () => {
  it("reads nested JSON with its shape", () => {
    expect(readPasted("[[1, 2, 3],\n [4, 5, 6]]", "INT32")).toEqual({
      ok: true,
      data: { elements: [1, 2, 3, 4, 5, 6], shape: [2, 3] },
    });
  });

  it("reads sheets, CSV and lines without a shape", () => {
    expect(readPasted("1\t2\n3\t4", "FP32")).toEqual({ ok: true, data: { elements: [1, 2, 3, 4], shape: null } });
    expect(readPasted("1,2;3 4,", "UINT8")).toEqual({ ok: true, data: { elements: [1, 2, 3, 4], shape: null } });
  });

  it("keeps every digit of 64-bit integers", () => {
    const pasted = readPasted("[9007199254740993, -9223372036854775808]", "INT64");
    expect(pasted).toMatchObject({ data: { elements: ["9007199254740993", "-9223372036854775808"] } });
  });

  it("reads texts as JSON or one per line", () => {
    expect(readPasted('["a, b", "c\\n"]', "BYTES")).toEqual({
      ok: true,
      data: { elements: ["a, b", "c\n"], shape: [2] },
    });
    expect(readPasted("first\n second", "BYTES")).toEqual({
      ok: true,
      data: { elements: ["first", " second"], shape: null },
    });
  });

  it.each([
    ["[[1, 2], [3]]", "Rows differ in length: 2 and 1"],
    ["[[1, 2], 3]", "mixed"],
    ["[1, 2", "']' is missing"],
    ["[1, 2]]", "too many"],
    ["[1 2]", "comma is missing"],
    ["[1,, 2]", "value is missing"],
    ["[1, 2] 3", "after the closing"],
    ["1, x, 3", "value 2: 'x' is not a number"],
    ["   ", "no values yet"],
  ])("says what is wrong with %s", (text, words) => {
    const pasted = readPasted(text, "FP32");
    expect(pasted.ok).toBe(false);
    expect(pasted.ok ? "" : pasted.error).toContain(words);
  });
});

describe("raw bytes", () => {
  it("writes half precision as IEEE 754 does", () => {
    expect([0, -0, 1, -2, 65504, 65520, Infinity, 5.960464477539063e-8, 6.103515625e-5, 1 / 3, 1e-9].map(halfBits)).toEqual([
      0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x7c00, 0x7c00, 0x0001, 0x0400, 0x3555, 0x0000,
    ]);
    expect(halfBits(NaN) & 0x7c00).toBe(0x7c00);
    expect(halfBits(NaN) & 0x3ff).not.toBe(0);
  });

  it("writes bfloat16 as the rounded upper half of float32", () => {
    expect([1, -1, 3.140625, 1.00390625, NaN].map(bfloatBits)).toEqual([0x3f80, 0xbf80, 0x4049, 0x3f80, 0x7fc0]);
  });

  it("is little-endian and exact for 64 bits", () => {
    expect(Array.from(rawBytes("INT32", [1, -1]))).toEqual([1, 0, 0, 0, 255, 255, 255, 255]);
    expect(Array.from(rawBytes("UINT64", ["18446744073709551614"]))).toEqual([254, 255, 255, 255, 255, 255, 255, 255]);
    expect(base64(rawBytes("FP32", new Float32Array([1])))).toBe("AACAPw==");
  });

  it("chooses numbers for small data and bytes for what JSON cannot carry", () => {
    expect(wireData("FP32", [1, 2.5])).toEqual([1, 2.5]);
    expect(wireData("INT64", ["7"])).toEqual([7]);
    expect(wireData("INT64", ["9007199254740993"])).toEqual({ raw: fromBase64("AQAAAAAAIAA=") });
    expect(wireData("FP32", [NaN])).toHaveProperty("raw");
    expect(wireData("FP16", [1])).toEqual({ raw: fromBase64("ADw=") });
    expect(wireData("FP32", new Float32Array(2000))).toHaveProperty("raw");
    expect(wireData("BYTES", ["a", "b"])).toEqual(["a", "b"]);
    expect(wireData("BYTES", [new Uint8Array([255])])).toEqual({ raw: new Uint8Array([1, 0, 0, 0, 255]) });
  });

  it("tells the size", () => {
    expect(tensorBytes("FP32", new Float32Array(150_528))).toBe(602_112);
    expect(tensorBytes("BYTES", ["é", ""])).toBe(10);
  });
});

describe("readRaw", () => {
  it.each([
    ["BOOL", [true, false]],
    ["INT8", [-128, 127]],
    ["UINT16", [0, 65535]],
    ["INT64", ["-9223372036854775808", "9007199254740993"]],
    ["UINT64", ["18446744073709551615"]],
    ["FP16", [0.5, -65504, Infinity]],
    ["BF16", [1, -3.140625]],
    ["FP32", [1.5, NaN]],
    ["FP64", [0.1]],
    ["BYTES", ["é", "", "two\nlines"]],
  ])("reads back %s", (datatype, elements) => {
    expect(readRaw(datatype, rawBytes(datatype, elements))).toEqual(elements);
  });

  it("keeps bytes that are no text, and says when something is missing", () => {
    const picture = new Uint8Array([0x89, 0x50, 0xff]);
    expect(readRaw("BYTES", rawBytes("BYTES", [picture]))).toEqual([picture]);
    expect(() => readRaw("INT32", new Uint8Array(3))).toThrow("3 bytes");
    expect(() => readRaw("BYTES", new Uint8Array([9, 0, 0, 0, 1]))).toThrow("cut short");
  });

  it("knows the small halves", () => {
    expect([0x0001, 0x03ff, 0x8000].map(halfValue)).toEqual([2 ** -24, 1023 * 2 ** -24, -0]);
  });
});

describe("samples", () => {
  it("are valid elements of their type", () => {
    for (const datatype of ["BOOL", "INT8", "UINT8", "UINT64", "FP16", "FP64", "BYTES"]) {
      for (const kind of ["zeros", "ones", "uniform", "normal", "count"] as const) {
        const elements = fillElements(datatype, 300, newFill(kind, datatype));
        expect(elements).toHaveLength(300);
        for (const element of elements) expect(parseElement(datatype, String(element)).error).toBeNull();
      }
    }
  });

  it("follow their bounds and their seed", () => {
    const fill = { kind: "uniform", a: -2, b: 3, seed: 5 } as const;
    const whole = fillElements("INT32", 500, fill).map(Number);
    expect([Math.min(...whole), Math.max(...whole)]).toEqual([-2, 3]);
    expect(fillElements("INT32", 500, fill)).toEqual(whole);
    expect(fillElements("INT32", 500, { ...fill, seed: 6 })).not.toEqual(whole);
    const normal = fillElements("FP32", 4000, { kind: "normal", a: 10, b: 2, seed: 1 }).map(Number);
    const mean = normal.reduce((sum, value) => sum + value) / normal.length;
    expect(mean).toBeGreaterThan(9.8);
    expect(mean).toBeLessThan(10.2);
    expect(fillElements("INT8", 200, { kind: "count", a: 0, b: 0, seed: 1 }).at(-1)).toBe(127);
  });
});

describe("megabytes of a raw output", () => {
  const COUNT = 1_000_000;
  const values = Float32Array.from({ length: COUNT }, (_, index) => (index % 3 === 0 ? NaN : index));

  it("are read exactly, also beside values that are no numbers", () => {
    const raw = base64(new Uint8Array(values.buffer));
    const message = parseExactly(`{"data": ["NaN", 9007199254740993], "raw": "${raw}"}`) as { data: unknown[]; raw: string };
    expect(message.data).toEqual(["NaN", "9007199254740993"]);
    const read = readRaw("FP32", fromBase64(message.raw));
    expect([read.length, read[0], read.at(-2)]).toEqual([COUNT, NaN, values.at(-2)]);
  });
});
