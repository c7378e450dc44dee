/** Tensor elements as little-endian bytes and back, for data that JSON would round, refuse or bloat. */
import { t } from "@lingui/core/macro";
import { datatypeInfo, type Element, type Elements } from "./datatypes";

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

/** The value of an IEEE 754 half. */
export function halfValue(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function bfloatValue(bits: number): number {
  scratch.setUint32(0, bits << 16);
  return scratch.getFloat32(0);
}

type Write = (view: DataView, at: number, value: Element | bigint) => void;
type Read = (view: DataView, at: number) => Element;

const integer = (value: Element | bigint): bigint =>
  BigInt(value instanceof Uint8Array ? 0 : typeof value === "string" ? value.trim() : value);

const WRITERS: Readonly<Record<string, Write>> = {
  BOOL: (view, at, value) => view.setUint8(at, value === true || value === 1 ? 1 : 0),
  UINT8: (view, at, value) => view.setUint8(at, Number(value)),
  INT8: (view, at, value) => view.setInt8(at, Number(value)),
  UINT16: (view, at, value) => view.setUint16(at, Number(value), true),
  INT16: (view, at, value) => view.setInt16(at, Number(value), true),
  UINT32: (view, at, value) => view.setUint32(at, Number(value), true),
  INT32: (view, at, value) => view.setInt32(at, Number(value), true),
  UINT64: (view, at, value) => view.setBigUint64(at, integer(value), true),
  INT64: (view, at, value) => view.setBigInt64(at, integer(value), true),
  FP16: (view, at, value) => view.setUint16(at, halfBits(Number(value)), true),
  BF16: (view, at, value) => view.setUint16(at, bfloatBits(Number(value)), true),
  FP32: (view, at, value) => view.setFloat32(at, Number(value), true),
  FP64: (view, at, value) => view.setFloat64(at, Number(value), true),
};

const READERS: Readonly<Record<string, Read>> = {
  BOOL: (view, at) => view.getUint8(at) !== 0,
  UINT8: (view, at) => view.getUint8(at),
  INT8: (view, at) => view.getInt8(at),
  UINT16: (view, at) => view.getUint16(at, true),
  INT16: (view, at) => view.getInt16(at, true),
  UINT32: (view, at) => view.getUint32(at, true),
  INT32: (view, at) => view.getInt32(at, true),
  UINT64: (view, at) => view.getBigUint64(at, true).toString(),
  INT64: (view, at) => view.getBigInt64(at, true).toString(),
  FP16: (view, at) => halfValue(view.getUint16(at, true)),
  BF16: (view, at) => bfloatValue(view.getUint16(at, true)),
  FP32: (view, at) => view.getFloat32(at, true),
  FP64: (view, at) => view.getFloat64(at, true),
};

const LENGTH_BYTES = 4;

/** The bytes as the binary tensor extension carries them; texts have their length in front. */
export function rawBytes(datatype: string, elements: Elements): Uint8Array<ArrayBuffer> {
  const write = WRITERS[datatype];
  if (write === undefined) return stringBytes(elements);
  const { width } = datatypeInfo(datatype);
  const view = new DataView(new ArrayBuffer(elements.length * width));
  for (let index = 0; index < elements.length; index += 1) {
    const value = elements[index];
    if (value !== undefined) write(view, index * width, value);
  }
  return new Uint8Array(view.buffer);
}

const encoder = new TextEncoder();

const itemBytes = (value: Element | bigint | undefined): Uint8Array =>
  value instanceof Uint8Array ? value : encoder.encode(String(value ?? ""));

function stringBytes(elements: Elements): Uint8Array<ArrayBuffer> {
  const items = Array.from(elements, itemBytes);
  const result = new Uint8Array(items.reduce((total, item) => total + LENGTH_BYTES + item.length, 0));
  const view = new DataView(result.buffer);
  let at = 0;
  for (const item of items) {
    view.setUint32(at, item.length, true);
    result.set(item, at + LENGTH_BYTES);
    at += LENGTH_BYTES + item.length;
  }
  return result;
}

/** The elements in raw bytes. Throws RangeError when they are cut short. */
export function readRaw(datatype: string, bytes: Uint8Array): Element[] {
  const read = READERS[datatype];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (read === undefined) return readStrings(bytes, view);
  const { width } = datatypeInfo(datatype);
  if (bytes.length % width !== 0) throw new RangeError(t`${bytes.length} bytes are no whole number of ${datatype} values`);
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; at += width) found.push(read(view, at));
  return found;
}

function readStrings(bytes: Uint8Array, view: DataView): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    at += LENGTH_BYTES;
    if (at + length > bytes.length) throw new RangeError(t`the last text is cut short`);
    found.push(textOrBytes(bytes.slice(at, at + length)));
    at += length;
  }
  return found;
}

/** A text where the bytes are one (UTF-8), else the bytes. */
export function textOrBytes(bytes: Uint8Array): string | Uint8Array {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
}

export function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}

/** Throws when the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  // A loop: an iterator over the characters takes a second where this takes 20 ms.
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** As the console's socket takes it: readable values, or the raw bytes. */
export type WireData = readonly (number | string | boolean)[] | { raw: Uint8Array<ArrayBuffer> };

const PLAIN_LIMIT = 1024;

/** Small tensors travel as readable numbers, everything that needs care as bytes. */
export function wireData(datatype: string, elements: Elements): WireData {
  const { kind, width } = datatypeInfo(datatype);
  const small = elements.length <= PLAIN_LIMIT;
  if (kind === "bytes" && small && Array.from(elements).every((value) => !(value instanceof Uint8Array)))
    return Array.from(elements, String);
  const plain = small && kind !== "bytes" && Array.from(elements).every(isSafe);
  if (!plain || datatype === "FP16" || datatype === "BF16") return { raw: rawBytes(datatype, elements) };
  return Array.from(elements, (value) =>
    typeof value === "bigint" || (width === 8 && kind === "integer") ? Number(value) : (value as number | boolean),
  );
}

function isSafe(value: Element | bigint): boolean {
  if (typeof value === "string" || typeof value === "bigint") return Number.isSafeInteger(Number(value));
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

/** Size on the wire as raw tensor data, the figure that the shape line shows. */
export function tensorBytes(datatype: string, elements: Elements): number {
  const { kind, width } = datatypeInfo(datatype);
  if (kind !== "bytes") return elements.length * width;
  return Array.from(elements).reduce<number>((total, value) => total + LENGTH_BYTES + itemBytes(value).length, 0);
}
