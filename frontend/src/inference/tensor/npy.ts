/** NumPy's `.npy` files: a header in Python's words, then the raw values. Pure. */
import { t } from "@lingui/core/macro";
import { datatypeInfo, type Element, type Elements } from "./datatypes";
import { rawBytes, readRaw, textOrBytes } from "./raw-bytes";
import { elementCount } from "./shape";

export interface NpyArray {
  datatype: string;
  shape: number[];
  elements: Element[];
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const ALIGNMENT = 64;

const DATATYPE_OF: Readonly<Record<string, string>> = {
  b1: "BOOL",
  u1: "UINT8",
  u2: "UINT16",
  u4: "UINT32",
  u8: "UINT64",
  i1: "INT8",
  i2: "INT16",
  i4: "INT32",
  i8: "INT64",
  f2: "FP16",
  f4: "FP32",
  f8: "FP64",
};
const CODE_OF: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(DATATYPE_OF).map(([code, datatype]) => [datatype, code]),
);

export function isNpy(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

interface Header {
  descr: string;
  fortran: boolean;
  shape: number[];
  start: number;
}

function readHeader(bytes: Uint8Array): Header {
  if (!isNpy(bytes)) throw new Error(t`This is not an .npy file.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const long = (bytes[6] ?? 0) >= 2;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (long ? 12 : 10) + length;
  const text = new TextDecoder().decode(bytes.subarray(long ? 12 : 10, start));
  const descr = /'descr'\s*:\s*'([^']+)'/.exec(text)?.[1];
  const shape = /'shape'\s*:\s*\(([^)]*)\)/.exec(text)?.[1];
  if (shape === undefined) throw new Error(t`The header of the .npy file cannot be read.`);
  if (descr === undefined) throw new Error(t`Structured .npy arrays cannot be sent as one tensor.`);
  return {
    descr,
    fortran: /'fortran_order'\s*:\s*True/.test(text),
    shape: shape
      .split(",")
      .map((axis) => axis.trim())
      .filter((axis) => axis !== "")
      .map(Number),
    start,
  };
}

/** Swaps the bytes of each value, for files of big-endian machines. */
function swapped(bytes: Uint8Array, width: number): Uint8Array {
  const result = bytes.slice();
  for (let at = 0; at < result.length; at += width) result.subarray(at, at + width).reverse();
  return result;
}

/** Column order to row order. */
function transposed(elements: Element[], shape: readonly number[]): Element[] {
  const result: Element[] = Array.from({ length: elements.length }, () => 0);
  const position = shape.map(() => 0);
  for (const value of elements) {
    result[position.reduce((at, index, axis) => at * (shape[axis] ?? 1) + index, 0)] = value;
    for (let axis = 0; axis < shape.length; axis += 1) {
      position[axis] = (position[axis] ?? 0) + 1;
      if ((position[axis] ?? 0) < (shape[axis] ?? 1)) break;
      position[axis] = 0;
    }
  }
  return result;
}

/** `S` and `U` arrays: fixed width, padded with zeros. */
function fixedTexts(bytes: Uint8Array, kind: string, width: number, count: number): Element[] {
  if (kind === "S") {
    return Array.from({ length: count }, (_, index) => {
      const item = bytes.slice(index * width, (index + 1) * width);
      let end = item.length;
      while (end > 0 && item[end - 1] === 0) end -= 1;
      return textOrBytes(item.slice(0, end));
    });
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, index) => {
    let text = "";
    for (let at = index * width * 4; at < (index + 1) * width * 4; at += 4) {
      const point = view.getUint32(at, true);
      if (point === 0) break;
      text += String.fromCodePoint(point);
    }
    return text;
  });
}

/** Throws with a sentence for people. */
export function readNpy(bytes: Uint8Array): NpyArray {
  const { descr, fortran, shape, start } = readHeader(bytes);
  const [, order = "", kind = "", width = ""] = /^([<>|=]?)([a-zA-Z])(\d*)$/.exec(descr) ?? [];
  const count = elementCount(shape);
  const data = bytes.subarray(start);
  const datatype = DATATYPE_OF[`${kind}${width}`];
  let elements: Element[];
  if (datatype !== undefined) {
    const size = datatypeInfo(datatype).width;
    if (data.length < count * size) throw new Error(t`The file is cut short: ${count} values expected.`);
    const exact = data.slice(0, count * size);
    elements = readRaw(datatype, order === ">" ? swapped(exact, size) : exact);
  } else if (kind === "S" || (kind === "U" && order !== ">")) {
    elements = fixedTexts(data.slice(), kind, Number(width), count);
  } else {
    throw new Error(t`.npy arrays of type '${descr}' cannot be sent. Use numbers, booleans or fixed-width texts.`);
  }
  return { datatype: datatype ?? "BYTES", shape, elements: fortran ? transposed(elements, shape) : elements };
}

/** BF16 has no NumPy type: its values become FP32, which holds all of them. Null for BYTES. */
export function npyBytes(datatype: string, shape: readonly number[], elements: Elements): Uint8Array<ArrayBuffer> | null {
  const stored = datatype === "BF16" ? "FP32" : datatype;
  const code = CODE_OF[stored];
  if (code === undefined) return null;
  const order = code.endsWith("1") ? "|" : "<";
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const words = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${axes}), }`;
  const padding = (ALIGNMENT - ((10 + words.length + 1) % ALIGNMENT)) % ALIGNMENT;
  const header = new TextEncoder().encode(`${words}${" ".repeat(padding)}\n`);
  const data = rawBytes(stored, elements);
  const result = new Uint8Array(10 + header.length + data.length);
  result.set([...MAGIC, 1, 0, header.length & 0xff, header.length >>> 8]);
  result.set(header, 10);
  result.set(data, 10 + header.length);
  return result;
}
