/** An output as values: whole where the bytes came along, else its first values. Pure. */
import { t } from "@lingui/core/macro";
import { datatypeInfo, type Element, type Elements } from "@/inference/tensor/datatypes";
import { fromBase64, readRaw } from "@/inference/tensor/raw-bytes";
import type { OutputStats, WireOutput } from "@/inference/socket/messages";

export interface OutputTensor {
  name: string;
  datatype: string;
  shape: number[];
  elements: Elements;
  /** False when only the first values are here. */
  complete: boolean;
  stats: OutputStats | null;
}

function fromJson(output: WireOutput): Element[] {
  const { kind } = datatypeInfo(output.datatype);
  return output.data.map((value): Element => {
    if (value === null) return Number.NaN;
    // NaN and Infinity travel as text; long whole numbers stay text.
    return kind === "float" ? Number(value) : value;
  });
}

const known = new WeakMap<WireOutput, OutputTensor>();

export function outputTensor(output: WireOutput): OutputTensor {
  const seen = known.get(output);
  if (seen) return seen;
  const elements = output.raw ? readRaw(output.datatype, fromBase64(output.raw)) : fromJson(output);
  const tensor: OutputTensor = {
    name: output.name,
    datatype: output.datatype,
    shape: output.shape,
    elements,
    complete: output.raw ? true : !output.truncated,
    stats: output.stats,
  };
  known.set(output, tensor);
  return tensor;
}

export const isNumeric = (datatype: string): boolean => {
  const { kind } = datatypeInfo(datatype);
  return kind === "integer" || kind === "float";
};

export function numbersOf(elements: Elements, from = 0, count = elements.length): Float64Array {
  const result = new Float64Array(Math.max(0, Math.min(count, elements.length - from)));
  for (let index = 0; index < result.length; index += 1) {
    const value = elements[from + index];
    result[index] = value instanceof Uint8Array ? Number.NaN : Number(value);
  }
  return result;
}

/** The first values, without a copy of all. */
export const firstOf = (elements: Elements, count: number): (Element | bigint)[] =>
  Array.from({ length: Math.min(count, elements.length) }, (_, index) => elements[index] ?? Number.NaN);

/** Comma-separated, a line per row of the last axis. Texts are quoted where they must be. */
export function csvOf(tensor: OutputTensor): string {
  const columns = tensor.shape.length > 1 ? (tensor.shape.at(-1) ?? 1) : 1;
  const cells = Array.from(tensor.elements, (value) => {
    const text = value instanceof Uint8Array ? t`<${value.length} bytes>` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  const lines: string[] = [];
  for (let at = 0; at < cells.length; at += Math.max(1, columns)) lines.push(cells.slice(at, at + Math.max(1, columns)).join(","));
  return `${lines.join("\n")}\n`;
}
