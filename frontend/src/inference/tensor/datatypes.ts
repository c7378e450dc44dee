/** The tensor datatypes of the KServe v2 protocol: width, range and how an element is written. */
import { t } from "@lingui/core/macro";

type DatatypeKind = "bool" | "integer" | "float" | "bytes";

export interface DatatypeInfo {
  kind: DatatypeKind;
  /** Bytes per element; 0 for BYTES, whose elements differ in length. */
  width: number;
  min?: bigint;
  max?: bigint;
  /** Largest finite value of a float type. */
  limit?: number;
}

const signed = (bits: bigint): Pick<DatatypeInfo, "min" | "max"> => ({
  min: -(2n ** (bits - 1n)),
  max: 2n ** (bits - 1n) - 1n,
});
const unsigned = (bits: bigint): Pick<DatatypeInfo, "min" | "max"> => ({ min: 0n, max: 2n ** bits - 1n });

const DATATYPES: Readonly<Record<string, DatatypeInfo>> = {
  BOOL: { kind: "bool", width: 1 },
  UINT8: { kind: "integer", width: 1, ...unsigned(8n) },
  UINT16: { kind: "integer", width: 2, ...unsigned(16n) },
  UINT32: { kind: "integer", width: 4, ...unsigned(32n) },
  UINT64: { kind: "integer", width: 8, ...unsigned(64n) },
  INT8: { kind: "integer", width: 1, ...signed(8n) },
  INT16: { kind: "integer", width: 2, ...signed(16n) },
  INT32: { kind: "integer", width: 4, ...signed(32n) },
  INT64: { kind: "integer", width: 8, ...signed(64n) },
  FP16: { kind: "float", width: 2, limit: 65504 },
  BF16: { kind: "float", width: 2, limit: 3.3895313892515355e38 },
  FP32: { kind: "float", width: 4, limit: 3.4028234663852886e38 },
  FP64: { kind: "float", width: 8, limit: Number.MAX_VALUE },
  BYTES: { kind: "bytes", width: 0 },
};

/** Throws on a datatype that the protocol does not have. */
export function datatypeInfo(datatype: string): DatatypeInfo {
  const info = DATATYPES[datatype];
  if (info === undefined) throw new Error(`Unknown datatype ${datatype}`);
  return info;
}

/**
 * One element as it travels: 64-bit integers stay text, because a JavaScript number would round them; a file that is one
 * item of a BYTES tensor stays its bytes.
 */
export type Element = number | string | boolean | Uint8Array;

/** Elements of a whole tensor, in row order. Arrays of 64-bit integers hold bigints. */
export type Elements = ArrayLike<Element | bigint>;

/** One element as a person reads it. */
export function elementText(value: Element | bigint | null | undefined): string {
  if (value === null || value === undefined) return "NaN";
  return value instanceof Uint8Array ? t`${value.length} bytes` : String(value);
}

const INTEGER = /^[+-]?\d+$/;
const NON_FINITE: Readonly<Record<string, number>> = {
  nan: NaN,
  inf: Infinity,
  "+inf": Infinity,
  "-inf": -Infinity,
  infinity: Infinity,
  "+infinity": Infinity,
  "-infinity": -Infinity,
};

export interface ParsedElement {
  value: Element;
  error: string | null;
}

const bad = (error: string): ParsedElement => ({ value: 0, error });

function parseInteger(text: string, datatype: string, info: DatatypeInfo): ParsedElement {
  // 1e3 and 2.0 are whole numbers too, as spreadsheets write them.
  const asNumber = Number(text);
  const whole = INTEGER.test(text) ? text : Number.isSafeInteger(asNumber) && text !== "" ? String(asNumber) : null;
  if (whole === null) return bad(t`'${text}' is not a whole number`);
  const value = BigInt(whole);
  if ((info.min !== undefined && value < info.min) || (info.max !== undefined && value > info.max)) {
    return bad(t`${text} is outside ${datatype} (${String(info.min)} to ${String(info.max)})`);
  }
  return { value: info.width === 8 ? value.toString() : Number(value), error: null };
}

function parseFloatText(text: string, datatype: string, info: DatatypeInfo): ParsedElement {
  const special = NON_FINITE[text.toLowerCase()];
  if (special !== undefined) return { value: special, error: null };
  const value = text === "" ? NaN : Number(text);
  if (Number.isNaN(value)) return bad(t`'${text}' is not a number`);
  if (info.limit !== undefined && Math.abs(value) > info.limit) return bad(t`${text} is too large for ${datatype}`);
  return { value, error: null };
}

/** Reads one element as a person writes it. */
export function parseElement(datatype: string, raw: string): ParsedElement {
  const info = datatypeInfo(datatype);
  if (info.kind === "bytes") return { value: raw, error: null };
  const text = raw.trim();
  if (info.kind === "bool") {
    if (/^(true|1)$/i.test(text)) return { value: true, error: null };
    if (/^(false|0)$/i.test(text)) return { value: false, error: null };
    return bad(t`'${text}' is neither true nor false`);
  }
  return info.kind === "integer" ? parseInteger(text, datatype, info) : parseFloatText(text, datatype, info);
}
