/** Tensor elements as little-endian bytes in base64, for data that JSON would round, refuse or bloat. */
import { datatypeInfo, type Element } from "./datatypes";

export type Elements = readonly Element[] | Float32Array | Uint8Array;

const scratch = new DataView(new ArrayBuffer(4));

/** IEEE 754 half precision, rounded to nearest even. */
export function halfBits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  const half = exponent - 112;
  if (half >= 31) return sign | 0x7c00;
  if (half <= 0) {
    if (half < -10) return sign;
    return sign | roundShift(fraction | 0x800000, 14 - half);
  }
  return sign + ((half << 10) | 0) + roundShift(fraction, 13);
}

function roundShift(value: number, shift: number): number {
  const kept = value >>> shift;
  const rest = value & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  return rest > middle || (rest === middle && (kept & 1) === 1) ? kept + 1 : kept;
}

/** The upper half of a float32, rounded to nearest even. */
export function bfloatBits(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const kept = bits >>> 16;
  const rest = bits & 0xffff;
  return (rest > 0x8000 || (rest === 0x8000 && (kept & 1) === 1) ? kept + 1 : kept) & 0xffff;
}

type Write = (view: DataView, at: number, value: Element) => void;

const WRITERS: Readonly<Record<string, Write>> = {
  BOOL: (view, at, value) => view.setUint8(at, value === true || value === 1 ? 1 : 0),
  UINT8: (view, at, value) => view.setUint8(at, Number(value)),
  INT8: (view, at, value) => view.setInt8(at, Number(value)),
  UINT16: (view, at, value) => view.setUint16(at, Number(value), true),
  INT16: (view, at, value) => view.setInt16(at, Number(value), true),
  UINT32: (view, at, value) => view.setUint32(at, Number(value), true),
  INT32: (view, at, value) => view.setInt32(at, Number(value), true),
  UINT64: (view, at, value) => view.setBigUint64(at, BigInt(value), true),
  INT64: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
  FP16: (view, at, value) => view.setUint16(at, halfBits(Number(value)), true),
  BF16: (view, at, value) => view.setUint16(at, bfloatBits(Number(value)), true),
  FP32: (view, at, value) => view.setFloat32(at, Number(value), true),
  FP64: (view, at, value) => view.setFloat64(at, Number(value), true),
};

/** Bytes of a fixed-width datatype. Throws for BYTES, whose elements travel as text. */
export function rawBytes(datatype: string, elements: Elements): Uint8Array {
  const write = WRITERS[datatype];
  if (write === undefined) throw new Error(`${datatype} has no fixed width`);
  const { width } = datatypeInfo(datatype);
  const view = new DataView(new ArrayBuffer(elements.length * width));
  for (let index = 0; index < elements.length; index += 1) {
    const value = elements[index];
    if (value !== undefined) write(view, index * width, value);
  }
  return new Uint8Array(view.buffer);
}

export function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}

export type WireData = Element[] | { b64: string };

const PLAIN_LIMIT = 1024;

/** Small tensors travel as readable numbers, everything that needs care as bytes. */
export function wireData(datatype: string, elements: Elements): WireData {
  const { kind, width } = datatypeInfo(datatype);
  if (kind === "bytes") return Array.from(elements, String);
  const plain = elements.length <= PLAIN_LIMIT && Array.from<Element>(elements).every(isSafe);
  if (!plain || datatype === "FP16" || datatype === "BF16") return { b64: base64(rawBytes(datatype, elements)) };
  return Array.from<Element>(elements).map((value) => (width === 8 && kind === "integer" ? Number(value) : value));
}

function isSafe(value: Element): boolean {
  if (typeof value === "string") return Number.isSafeInteger(Number(value));
  return typeof value === "boolean" || Number.isFinite(value);
}

/** Size on the wire as raw tensor data, the figure that the shape line shows. */
export function tensorBytes(datatype: string, elements: Elements): number {
  const { kind, width } = datatypeInfo(datatype);
  if (kind !== "bytes") return elements.length * width;
  const encoder = new TextEncoder();
  return Array.from<Element>(elements).reduce<number>(
    (total, value) => total + 4 + encoder.encode(String(value)).length,
    0,
  );
}
