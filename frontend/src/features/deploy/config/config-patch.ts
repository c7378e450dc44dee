/**
 * Edits a config.pbtxt in place: one field at a time, leaving every other character (comments, order, unknown fields) as it
 * was. Every function returns the new text, and throws PbtxtSyntaxError when the given text has no readable structure.
 */
import type { InstanceKind } from "./config-fields";
import { messagesOf, parsePbtxt, type FieldNode, type MessageNode } from "./pbtxt-ast";
import { addToMessage, appendBlock, cutAll, INDENT, last, lineEnd, setScalar, splice } from "./pbtxt-edit";

export function setMaxBatchSize(text: string, value: number): string {
  const document = parsePbtxt(text);
  const replaced = setScalar(text, document, "max_batch_size", String(value));
  if (replaced !== null) return replaced;
  const line = `max_batch_size: ${value}`;
  const anchor = document.filter((field) => ["name", "backend", "platform"].includes(field.name)).at(-1);
  if (anchor === undefined) return document.length > 0 || text.trim() !== "" ? `${line}\n${text}` : `${line}\n`;
  const at = lineEnd(text, anchor.end);
  const sharesLine = document.some((field) => field.start > anchor.end && field.start < at);
  return sharesLine ? splice(text, anchor.end, anchor.end, `\n${line}\n`) : splice(text, at, at, `\n${line}`);
}

function groupField(text: string, name: "count" | "kind", value: string): string {
  const groups = messagesOf(parsePbtxt(text), "instance_group");
  const group = groups[0];
  if (group === undefined) {
    return appendBlock(text, `instance_group [\n${INDENT}{\n${INDENT}${INDENT}${name}: ${value}\n${INDENT}}\n]`);
  }
  return setScalar(text, group.fields, name, value) ?? addToMessage(text, group, `${name}: ${value}`);
}

export function setInstanceCount(text: string, count: number): string {
  return groupField(text, "count", String(count));
}

/** KIND_AUTO is what an absent field means, so choosing it takes the field out. */
export function setInstanceKind(text: string, kind: InstanceKind): string {
  if (kind !== "KIND_AUTO") return groupField(text, "kind", kind);
  return cutAll(text, (document) => {
    const group = messagesOf(document, "instance_group")[0];
    return group ? group.fields.filter((field) => field.name === "kind") : [];
  });
}

export function removeField(text: string, name: string): string {
  return cutAll(text, (document) => document.filter((field) => field.name === name));
}

/** The written form of a top-level field, so that switching it off and on again loses nothing. */
export function writtenField(text: string, name: string): string | null {
  const field = last(parsePbtxt(text), name);
  return field ? text.slice(field.start, field.end) : null;
}

export function setDynamicBatching(text: string, on: boolean, remembered: string | null = null): string {
  const present = messagesOf(parsePbtxt(text), "dynamic_batching").length > 0;
  if (on === present) return text;
  if (!on) return removeField(text, "dynamic_batching");
  return appendBlock(text, remembered ?? "dynamic_batching { }");
}

function withBatching(text: string): string {
  return setDynamicBatching(text, true);
}

function batchingOf(text: string): MessageNode {
  const message = messagesOf(parsePbtxt(text), "dynamic_batching").at(-1);
  if (message === undefined) throw new Error("dynamic_batching was just added and must be there");
  return message;
}

function cutFromBatching(text: string, select: (fields: FieldNode[]) => FieldNode[]): string {
  return cutAll(text, (document) => {
    const message = messagesOf(document, "dynamic_batching").at(-1);
    return message ? select(message.fields) : [];
  });
}

export function setPreferredBatchSizes(text: string, sizes: number[]): string {
  const name = "preferred_batch_size";
  if (sizes.length === 0) return cutFromBatching(text, (fields) => fields.filter((field) => field.name === name));
  const list = `[ ${sizes.join(", ")} ]`;
  // Written several times (`f: 4 f: 8`) the first place keeps the list and the others go.
  const single = cutFromBatching(withBatching(text), (fields) => fields.filter((field) => field.name === name).slice(1));
  const message = batchingOf(single);
  return setScalar(single, message.fields, name, list) ?? addToMessage(single, message, `${name}: ${list}`);
}

export function setMaxQueueDelay(text: string, microseconds: number | null): string {
  const name = "max_queue_delay_microseconds";
  if (microseconds === null) return cutFromBatching(text, (fields) => fields.filter((field) => field.name === name));
  const ready = withBatching(text);
  const message = batchingOf(ready);
  return setScalar(ready, message.fields, name, String(microseconds)) ?? addToMessage(ready, message, `${name}: ${microseconds}`);
}
