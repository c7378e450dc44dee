/** Reads pasted tensor data: nested JSON, or numbers separated by commas, tabs, spaces and lines. Never rounds 64-bit integers. */
import { t } from "@lingui/core/macro";
import { parseElement, type Element } from "./datatypes";

interface PastedData {
  elements: Element[];
  /** The nesting of JSON data; null for a plain list of numbers, which has no shape of its own. */
  shape: number[] | null;
}

export type Pasted = { ok: true; data: PastedData } | { ok: false; error: string };

class PasteError extends Error {}

interface Leaf {
  text: string;
  quoted: boolean;
}

const LITERAL = /"(?:[^"\\\n]|\\.)*"|[^\s,[\]"]+/y;

/** Walks `[[1, 2], [3, 4]]` without JSON.parse, so that every literal keeps its digits. */
function readNested(text: string): { leaves: Leaf[]; shape: number[] } {
  const leaves: Leaf[] = [];
  const lengths: (number | null)[] = [];
  const counts: number[] = [];
  let leafDepth: number | null = null;
  let wantsValue = true;
  let at = 0;
  const close = (): void => {
    const depth = counts.length - 1;
    const count = counts.pop();
    if (count === undefined) throw new PasteError(t`There is one ']' too many.`);
    const known = lengths[depth];
    if (known === undefined || known === null) lengths[depth] = count;
    else if (known !== count) throw new PasteError(t`Rows differ in length: ${known} and ${count} values at depth ${depth + 1}.`);
  };
  const countOne = (): void => {
    const depth = counts.length - 1;
    if (depth >= 0) counts[depth] = (counts[depth] ?? 0) + 1;
  };
  while (at < text.length) {
    const character = text.charAt(at);
    if (/\s/.test(character)) at += 1;
    else if (character === ",") {
      if (wantsValue) throw new PasteError(t`A value is missing before a comma.`);
      wantsValue = true;
      at += 1;
    } else if (character === "[") {
      if (counts.length === 0 && leaves.length + lengths.length > 0) throw new PasteError(t`There is text after the closing bracket.`);
      countOne();
      counts.push(0);
      wantsValue = true;
      at += 1;
    } else if (character === "]") {
      close();
      wantsValue = false;
      at += 1;
    } else {
      LITERAL.lastIndex = at;
      const match = LITERAL.exec(text);
      if (match === null) throw new PasteError(t`Unexpected ${character} at position ${at + 1}.`);
      if (counts.length === 0) throw new PasteError(t`There is text after the closing bracket.`);
      if (!wantsValue) throw new PasteError(t`A comma is missing before ${match[0]}.`);
      if (leafDepth !== null && leafDepth !== counts.length) throw new PasteError(t`Values and lists are mixed at one depth.`);
      leafDepth = counts.length;
      countOne();
      leaves.push(unquote(match[0]));
      wantsValue = false;
      at += match[0].length;
    }
  }
  if (counts.length > 0) throw new PasteError(t`A ']' is missing at the end.`);
  return { leaves, shape: lengths.map((length) => length ?? 0) };
}

function unquote(literal: string): Leaf {
  if (!literal.startsWith('"')) return { text: literal, quoted: false };
  try {
    return { text: JSON.parse(literal) as string, quoted: true };
  } catch {
    throw new PasteError(t`${literal} is not a JSON string.`);
  }
}

function readLeaves(text: string, datatype: string): { leaves: Leaf[]; shape: number[] | null } {
  if (text.startsWith("[")) return readNested(text);
  if (datatype === "BYTES") return { leaves: text.split("\n").map((line) => ({ text: line, quoted: true })), shape: null };
  const words = text.split(/[\s,;]+/).filter((word) => word !== "");
  return { leaves: words.map((word) => ({ text: word, quoted: false })), shape: null };
}

export function readPasted(raw: string, datatype: string): Pasted {
  const text = datatype === "BYTES" && !raw.trimStart().startsWith("[") ? raw : raw.trim();
  if (text.trim() === "") return { ok: false, error: t`no values yet` };
  try {
    const { leaves, shape } = readLeaves(text.startsWith("[") ? text : text, datatype);
    const elements: Element[] = [];
    for (const [index, leaf] of leaves.entries()) {
      const { value, error } = parseElement(datatype, leaf.text);
      if (error !== null) return { ok: false, error: t`value ${index + 1}: ${error}` };
      elements.push(value);
    }
    return { ok: true, data: { elements, shape } };
  } catch (error) {
    if (error instanceof PasteError) return { ok: false, error: error.message };
    throw error;
  }
}
