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

/** What stands before the first word of the line. */
export function indentAt(text: string, offset: number): string {
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

/** Offset of the comma between two values; those in comments do not count. -1 where there is none. */
function commaBetween(text: string, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    if (text[at] === "#") at = lineEnd(text, at);
    else if (text[at] === ",") return at;
  }
  return -1;
}

/** Cuts a stretch out, with its lines where nothing else stands on them. */
function cutStretch(text: string, start: number, end: number): string {
  const [first, last] = [lineStart(text, start), lineEnd(text, end)];
  const alone = text.slice(first, start).trim() === "" && text.slice(end, last).trim() === "";
  return alone ? splice(text, first, Math.min(last + 1, text.length), "") : splice(text, start, end, "");
}

/** Cuts one value out of a list, with the comma that bound it to its neighbour; comments around it stay. */
function cutItem(text: string, items: readonly { start: number; end: number }[], index: number): string {
  const [before, item, next] = [items[index - 1], items[index], items[index + 1]];
  if (item === undefined) return text;
  if (next !== undefined) {
    const comma = commaBetween(text, item.end, next.start);
    // A comment before the comma stays, and the comma with it goes on its own.
    if (comma >= 0 && text.slice(item.end, comma).trim() !== "")
      return cutStretch(splice(text, comma, comma + 1, ""), item.start, item.end);
    const end = comma < 0 ? item.end : comma + 1;
    const sameLine = !text.slice(end, next.start).includes("\n");
    return sameLine ? splice(text, item.start, next.start, "") : cutStretch(text, item.start, end);
  }
  const cutOut = cutStretch(text, item.start, item.end);
  const comma = before === undefined ? -1 : commaBetween(text, before.end, item.start);
  return comma < 0 ? cutOut : splice(cutOut, comma, comma + 1, "");
}

/** Takes one message out of a repeated field, of the top level or of the message `within`; the field goes with its last message. */
export function removeMessage(text: string, name: string, index: number, within?: MessageNode): string {
  const document = within?.fields ?? parsePbtxt(text);
  let at = 0;
  for (const field of document) {
    if (field.name !== name) continue;
    if (field.value.kind !== "list") {
      if (at === index) return cut(text, field);
      at += 1;
      continue;
    }
    const { items } = field.value;
    if (items[index - at] === undefined) {
      at += items.length;
      continue;
    }
    return items.length === 1 ? cut(text, field) : cutItem(text, items, index - at);
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
