/**
 * Small edits of protobuf text format by position: every character that is not meant stays. Nothing here knows what the
 * fields mean; config-patch.ts does.
 */
import { messagesOf, parsePbtxt, type FieldNode, type MessageNode } from "./pbtxt-ast";

export const INDENT = "  ";

export function splice(text: string, start: number, end: number, replacement: string): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

export function lineEnd(text: string, offset: number): number {
  const at = text.indexOf("\n", offset);
  return at === -1 ? text.length : at;
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? "";
}

export function last(fields: FieldNode[], name: string): FieldNode | undefined {
  return fields.filter((field) => field.name === name).at(-1);
}

/** Cuts one field out. A line that becomes empty goes with it; a comment on the line stays. */
function cut(text: string, field: FieldNode): string {
  const start = lineStart(text, field.start);
  const end = lineEnd(text, field.end);
  const before = text.slice(start, field.start);
  const after = text.slice(field.end, end);
  if (before.trim() === "" && after.trim() === "") {
    const next = Math.min(end + 1, text.length);
    const blankBefore = /\n[ \t]*\n$/.test(text.slice(0, start));
    const blankAfter = next >= text.length || /^[ \t]*\n/.test(text.slice(next));
    // A block that stood between two empty lines leaves one of them.
    const from = blankBefore && blankAfter ? text.lastIndexOf("\n", start - 2) + 1 : start;
    return splice(text, from, next, "");
  }
  return splice(text, field.start, field.end + (/^[ \t]*/.exec(after)?.[0].length ?? 0), "");
}

export function cutAll(text: string, select: (document: FieldNode[]) => FieldNode[]): string {
  let result = text;
  for (;;) {
    const field = select(parsePbtxt(result)).at(-1);
    if (field === undefined) return result;
    result = cut(result, field);
  }
}

/** Adds `line` as the last field of a message, in the message's own layout. */
export function addToMessage(text: string, message: MessageNode, line: string): string {
  const close = message.end - 1;
  const inner = text.slice(message.start + 1, close);
  const outer = indentAt(text, message.start);
  const final = message.fields.at(-1);
  if (!inner.includes("\n")) {
    if (final !== undefined) return splice(text, final.end, close, ` ${line} `);
    return splice(text, message.start + 1, close, `\n${outer}${INDENT}${line}\n${outer}`);
  }
  if (final === undefined) return splice(text, lineEnd(text, message.start), lineEnd(text, message.start), `\n${outer}${INDENT}${line}`);
  const onOwnLine = text.slice(lineStart(text, final.start), final.start).trim() === "";
  const indent = onOwnLine ? indentAt(text, final.start) : outer + INDENT;
  // After the comment that follows the last field, unless the bracket closes on that same line.
  const at = lineEnd(text, final.end) < close ? lineEnd(text, final.end) : final.end;
  return splice(text, at, at, `\n${indent}${line}`);
}

export function appendBlock(text: string, block: string): string {
  if (text.trim() === "") return `${block}\n`;
  return `${text.trimEnd()}\n\n${block}\n`;
}

export function setScalar(text: string, fields: FieldNode[], name: string, value: string): string | null {
  const field = last(fields, name);
  if (field === undefined) return null;
  return splice(text, field.value.start, field.value.end, value);
}

/** Field names, and positions in repeated messages: `["input", 0, "dims"]`. A name without a position means the last one. */
export type Path = readonly (string | number)[];

interface Step {
  name: string;
  index: number | null;
}

function stepsOf(path: Path): Step[] {
  const steps: Step[] = [];
  for (const part of path) {
    const before = steps.at(-1);
    if (typeof part === "string") steps.push({ name: part, index: null });
    else if (before) before.index = part;
  }
  return steps;
}

function messageAt(fields: FieldNode[], { name, index }: Step): MessageNode | undefined {
  const messages = messagesOf(fields, name);
  return index === null ? messages.at(-1) : messages[index];
}

function leafOf(path: Path): string {
  const leaf = path.at(-1);
  if (typeof leaf !== "string") throw new Error("The last part of a path to a value is a name");
  return leaf;
}

/** Writes `value` (as it stands in the file: strings with quotes) at `path`; messages on the way are made. */
export function setAt(text: string, path: Path, value: string): string {
  const steps = stepsOf(path.slice(0, -1));
  const leaf = leafOf(path);
  let fields = parsePbtxt(text);
  let message: MessageNode | null = null;
  for (const step of steps) {
    const next = messageAt(fields, step);
    if (next === undefined) {
      const block = `${step.name} { }`;
      const grown = message === null ? appendBlock(text, block) : addToMessage(text, message, block);
      return setAt(grown, path, value);
    }
    message = next;
    fields = next.fields;
  }
  const replaced = setScalar(text, fields, leaf, value);
  if (replaced !== null) return replaced;
  const line = `${leaf}: ${value}`;
  return message === null ? appendBlock(text, line) : addToMessage(text, message, line);
}

/** Takes every field of that name out of the message at `path`; nothing happens where it is not there. */
export function removeAt(text: string, path: Path): string {
  const steps = stepsOf(path.slice(0, -1));
  const leaf = leafOf(path);
  return cutAll(text, (document) => {
    let fields = document;
    for (const step of steps) {
      const message = messageAt(fields, step);
      if (message === undefined) return [];
      fields = message.fields;
    }
    return fields.filter((field) => field.name === leaf);
  });
}

/** Adds one more message to a repeated top-level field, in the way in which those before are written. */
export function addMessage(text: string, name: string, body: string): string {
  const field = last(parsePbtxt(text), name);
  const block = `{\n${INDENT}${INDENT}${body}\n${INDENT}}`;
  if (field === undefined) return appendBlock(text, `${name} [\n${INDENT}${block}\n]`);
  if (field.value.kind !== "list") return splice(text, field.end, field.end, `\n${name} {\n${INDENT}${body}\n}`);
  const final = field.value.items.at(-1);
  if (final === undefined) return splice(text, field.value.start, field.value.end, `[\n${INDENT}${block}\n]`);
  return splice(text, final.end, final.end, `,\n${INDENT}${block}`);
}

/** Takes one message out of a repeated top-level field; the field goes with its last message. */
export function removeMessage(text: string, name: string, index: number): string {
  const document = parsePbtxt(text);
  let at = 0;
  for (const field of document) {
    if (field.name !== name) continue;
    if (field.value.kind !== "list") {
      if (at === index) return cut(text, field);
      at += 1;
      continue;
    }
    const { items } = field.value;
    const item = items[index - at];
    if (item === undefined) {
      at += items.length;
      continue;
    }
    if (items.length === 1) return cut(text, field);
    // With the comma that bound it to its neighbour.
    const next = items[index - at + 1];
    const before = items[index - at - 1];
    return next ? splice(text, item.start, next.start, "") : splice(text, before?.end ?? item.start, item.end, "");
  }
  return text;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

/** The characters that a scalar stands for; adjacent strings are one. */
export function unquoted(scalar: string): string {
  if (!/^["']/.test(scalar)) return scalar;
  // A string without an end reaches to the end of the text: else it would be looked for at each quote in it.
  return [...scalar.matchAll(/"((?:\\[^]|[^"\\])*)(?:"|\\?$)|'((?:\\[^]|[^'\\])*)(?:'|\\?$)/g)]
    .map((match) => (match[1] ?? match[2] ?? "").replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char))
    .join("");
}

export const quoted = (value: string): string => JSON.stringify(value);
