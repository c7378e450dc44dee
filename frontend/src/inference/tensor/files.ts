/** A dropped file as tensor elements: .npy, JSON, CSV, plain text, or raw values. Pure. */
import { plural, t } from "@lingui/core/macro";
import { datatypeInfo, parseElement, type Element } from "./datatypes";
import { isNpy, readNpy } from "./npy";
import { readPasted } from "./pasted-data";
import { readRaw, textOrBytes } from "./raw-bytes";

interface FileData {
  elements: Element[];
  /** What the file itself says; null where it is only a row of values. */
  shape: number[] | null;
  /** How it was read, for the line under the input. */
  note: string;
}

export type FileRead = { ok: true; data: FileData } | { ok: false; error: string };

const TEXTS = /\.(json|csv|tsv|txt)$/i;

function converted(elements: readonly Element[], from: string, to: string): Element[] {
  if (from === to) return [...elements];
  const wanted = datatypeInfo(to).kind;
  return elements.map((value, index) => {
    if (wanted === "bytes") return value instanceof Uint8Array ? value : String(value);
    const { value: parsed, error } = parseElement(to, String(value));
    if (error !== null) throw new Error(t`value ${index + 1}: ${error}`);
    return parsed;
  });
}

/** One file for one tensor. Files of a BYTES tensor are its items, unless they are .npy or JSON. */
export function readFile(name: string, bytes: Uint8Array, datatype: string): FileRead {
  try {
    if (isNpy(bytes)) {
      const array = readNpy(bytes);
      const note = array.datatype === datatype ? ".npy" : t`.npy of ${array.datatype}, converted`;
      return { ok: true, data: { elements: converted(array.elements, array.datatype, datatype), shape: array.shape, note } };
    }
    const text = TEXTS.test(name) ? textOrBytes(bytes) : null;
    const isJson = typeof text === "string" && text.trimStart().startsWith("[");
    if (typeof text === "string" && (isJson || datatype !== "BYTES")) {
      const pasted = readPasted(text, datatype);
      if (!pasted.ok) return pasted;
      return { ok: true, data: { ...pasted.data, note: isJson ? "JSON" : t`text` } };
    }
    if (datatype === "BYTES") return { ok: true, data: { elements: [textOrBytes(bytes)], shape: null, note: t`one item` } };
    return { ok: true, data: { elements: readRaw(datatype, bytes), shape: null, note: t`raw ${datatype} values` } };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}

/** Several files: the items of a BYTES tensor, one after the other; else their elements joined. */
export function readFiles(files: readonly { name: string; bytes: Uint8Array }[], datatype: string): FileRead {
  const elements: Element[] = [];
  const read: FileData[] = [];
  for (const file of files) {
    const one = readFile(file.name, file.bytes, datatype);
    if (!one.ok) return { ok: false, error: `${file.name}: ${one.error}` };
    read.push(one.data);
    for (const element of one.data.elements) elements.push(element);
  }
  const [only] = read;
  if (only && read.length === 1) return { ok: true, data: only };
  return { ok: true, data: { elements, shape: null, note: plural(files.length, { one: "# file", other: "# files" }) } };
}
