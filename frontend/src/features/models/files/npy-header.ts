/** What the head of an `.npy` file says about its array. Pure. */

export interface NpyHeader {
  /** As NumPy writes it: `<f4`. */
  descr: string;
  shape: number[];
  /** Columns first, as Fortran and MATLAB write. */
  fortran: boolean;
  /** Bytes of the values, as type and shape ask for them; null for structured and Python objects. */
  dataBytes: number | null;
  /** Where the values begin. */
  start: number;
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const CHARACTER_BYTES = 4; // of a `U` text, per character

function itemBytes(descr: string): number | null {
  const [, kind, width] = /^[<>|=]?([biufcSUV])(\d+)$/.exec(descr) ?? [];
  if (kind === undefined || width === undefined) return null;
  return Number(width) * (kind === "U" ? CHARACTER_BYTES : 1);
}

/** Null where the bytes are no `.npy` file, or its header is cut off. */
export function npyHeader(bytes: Uint8Array): NpyHeader | null {
  if (bytes.length < 12 || !MAGIC.every((byte, index) => bytes[index] === byte)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const long = (bytes[6] ?? 0) >= 2;
  const begin = long ? 12 : 10;
  const start = begin + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  if (start > bytes.length) return null;
  const text = new TextDecoder().decode(bytes.subarray(begin, start));
  const axes = /'shape'\s*:\s*\(([^)]*)\)/.exec(text)?.[1];
  if (axes === undefined) return null;
  const shape = axes.split(",").flatMap((axis) => (axis.trim() === "" ? [] : [Number(axis)]));
  const descr = /'descr'\s*:\s*'([^']+)'/.exec(text)?.[1] ?? "structured";
  const item = itemBytes(descr);
  return {
    descr,
    shape,
    fortran: /'fortran_order'\s*:\s*True/.test(text),
    dataBytes: item === null ? null : shape.reduce((product, size) => product * size, item),
    start,
  };
}
