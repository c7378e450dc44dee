import { describe, expect, it } from "vitest";
import { npyHeader } from "./npy-header";
import { onnxHead, opsetsOf } from "./onnx-head";

const encoder = new TextEncoder();

function npy(words: string, version = 1): Uint8Array {
  const text = encoder.encode(words);
  const length = version === 1 ? [text.length & 0xff, text.length >>> 8] : [text.length & 0xff, text.length >>> 8, 0, 0];
  return new Uint8Array([0x93, ...encoder.encode("NUMPY"), version, 0, ...length, ...text]);
}

describe("the head of an .npy file", () => {
  it.each([
    ["{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", { descr: "<f4", shape: [2, 3], fortran: false, dataBytes: 24 }],
    ["{'descr': '|u1', 'fortran_order': True, 'shape': (5,), }", { descr: "|u1", shape: [5], fortran: true, dataBytes: 5 }],
    ["{'descr': '<U7', 'fortran_order': False, 'shape': (), }", { descr: "<U7", shape: [], dataBytes: 28 }],
    ["{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }", { descr: "structured", dataBytes: null }],
    ["{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", { descr: "|O", dataBytes: null }],
  ])("%s", (words, header) => {
    expect(npyHeader(npy(words))).toMatchObject({ ...header, start: 10 + words.length });
    expect(npyHeader(npy(words, 2))).toMatchObject(header);
  });

  it.each([
    ["other bytes", encoder.encode("PK\u0003\u0004 and so on")],
    ["a header that is cut off", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }").subarray(0, 30)],
    ["nothing", new Uint8Array()],
  ])("is null for %s", (_, bytes) => expect(npyHeader(bytes)).toBeNull());
});

/** Protobuf by hand: one byte for the tag, lengths below 16,384. */
const length = (size: number) => (size < 0x80 ? [size] : [(size & 0x7f) | 0x80, size >>> 7]);
const message = (number: number, bytes: ArrayLike<number>) => [number * 8 + 2, ...length(bytes.length), ...Array.from(bytes)];
const words = (number: number, text: string) => message(number, encoder.encode(text));
const node = (operator: string, domain = "") =>
  message(1, [...words(1, "x"), ...words(2, "y"), ...words(4, operator), ...(domain ? words(7, domain) : [])]);
const WEIGHTS = message(5, new Uint8Array(3000));
const TAIL = [...message(8, [16, 17]), ...message(8, [...words(1, "com.microsoft"), 16, 1])];
const MODEL = new Uint8Array([
  8,
  9,
  ...words(2, "pytorch"),
  ...words(3, "2.5"),
  ...message(7, [...node("Conv"), ...node("Relu"), ...node("Conv"), ...node("Gelu", "com.microsoft"), ...words(2, "main"), ...WEIGHTS]),
  ...TAIL,
]);

describe("the head of an ONNX file", () => {
  const SUMMARY = { irVersion: 9, producer: "pytorch 2.5", nodes: 4 };
  it("tells operators by how often they are there", () =>
    expect(onnxHead(MODEL)).toEqual({
      ...SUMMARY,
      graph: "main",
      operators: [
        { name: "Conv", count: 2 },
        { name: "com.microsoft.Gelu", count: 1 },
        { name: "Relu", count: 1 },
      ],
      complete: true,
      graphEnd: MODEL.length - TAIL.length,
    }));

  it("tells the operator sets behind the graph", () => {
    const { graphEnd = 0 } = onnxHead(MODEL.subarray(0, 200)) ?? {};
    expect(opsetsOf(MODEL.subarray(graphEnd))).toBe("17, com.microsoft 1");
    expect(opsetsOf(new Uint8Array())).toBe("");
  });

  it.each([
    ["the weights", 200, { ...SUMMARY, complete: true }],
    ["the nodes", 40, { nodes: 1, complete: false }],
  ])("reads what there is where the head ends among %s", (_, size, summary) =>
    expect(onnxHead(MODEL.subarray(0, size))).toMatchObject(summary),
  );

  it.each([
    ["texts", encoder.encode("not a model at all")],
    ["an archive", new Uint8Array([0x50, 0x4b, 3, 4, 20, 0, 0, 0])],
    ["nothing", new Uint8Array()],
    ["a message of something else", new Uint8Array(words(2, "hello"))],
  ])("is null for %s", (_, bytes) => expect(onnxHead(bytes)).toBeNull());
});
