/**
 * Edits of an ensemble's steps in the text of its config.pbtxt: each changes the characters that it means, so that comments
 * and fields that the drawing does not know stay. Every function returns the new text.
 */
import { type MessageNode, messagesOf, parsePbtxt, scalarsOf } from "./pbtxt-ast";
import { addToMessage, INDENT, indentAt, last, quoted, removeMessage, setAt, splice, unquoted } from "./pbtxt-edit";

type Side = "input_map" | "output_map";

const scheduleOf = (text: string): MessageNode | undefined => messagesOf(parsePbtxt(text), "ensemble_scheduling").at(-1);
const stepsOf = (text: string): MessageNode[] => messagesOf(scheduleOf(text)?.fields ?? [], "step");

const textOf = (message: MessageNode, name: string): string => unquoted(scalarsOf(message.fields, name).at(-1)?.text ?? "");

const entriesOf = (step: MessageNode, side: Side): MessageNode[] => messagesOf(step.fields, side);

/** Names that tensors of the ensemble have already. */
export function tensorNames(text: string): Set<string> {
  const document = parsePbtxt(text);
  const own = ["input", "output"].flatMap((side) => messagesOf(document, side).map((one) => textOf(one, "name")));
  const inner = stepsOf(text).flatMap((step) =>
    (["input_map", "output_map"] as const).flatMap((side) => entriesOf(step, side).map((entry) => textOf(entry, "value"))),
  );
  return new Set([...own, ...inner]);
}

/** `wanted`, or the first of `wanted_2`, `wanted_3` … that no tensor is called. */
export function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

/** A step for `model` as the last one: its outputs get names of their own, its inputs are to be connected. */
export function addStep(text: string, model: string, outputs: readonly string[]): string {
  const schedule = scheduleOf(text);
  if (!schedule) return text;
  const taken = tensorNames(text);
  const maps = outputs.map((output) => {
    const name = freeName(output, taken);
    taken.add(name);
    return `output_map { key: ${quoted(output)} value: ${quoted(name)} }`;
  });
  const lines = [`model_name: ${quoted(model)}`, "model_version: -1", ...maps];
  const block = (indent: string) => `{\n${lines.map((line) => `${indent}${INDENT}${line}\n`).join("")}${indent}}`;
  const field = last(schedule.fields, "step");
  if (field === undefined) return addToMessage(text, schedule, `step [\n${INDENT.repeat(2)}${block(INDENT.repeat(2))}\n${INDENT}]`);
  if (field.value.kind !== "list") {
    const indent = indentAt(text, field.start);
    return splice(text, field.end, field.end, `\n${indent}step ${block(indent)}`);
  }
  const final = field.value.items.at(-1);
  const outer = indentAt(text, field.start) + INDENT;
  if (final === undefined) return splice(text, field.value.start, field.value.end, `[\n${outer}${block(outer)}\n${outer.slice(2)}]`);
  return splice(text, final.end, final.end, `,\n${outer}${block(outer)}`);
}

/** What others take from it stays named, and is then made by nobody: the checks say so. */
export function removeStep(text: string, index: number): string {
  const schedule = scheduleOf(text);
  return schedule ? removeMessage(text, "step", index, schedule) : text;
}

export const setStepVersion = (text: string, index: number, version: number): string =>
  setAt(text, ["ensemble_scheduling", "step", index, "model_version"], String(version));

/** Which tensor of the ensemble an input or output of a step's model is; null takes the connection out. */
export function setConnection(text: string, index: number, side: Side, name: string, tensor: string | null): string {
  const step = stepsOf(text)[index];
  if (!step) return text;
  const at = entriesOf(step, side).findIndex((entry) => textOf(entry, "key") === name);
  if (tensor === null) return at < 0 ? text : removeMessage(text, side, at, step);
  if (at < 0) return addToMessage(text, step, `${side} { key: ${quoted(name)} value: ${quoted(tensor)} }`);
  return setAt(text, ["ensemble_scheduling", "step", index, side, at, "value"], quoted(tensor));
}

/** A tensor between steps is called `to` wherever it stands. */
export function renameTensor(text: string, from: string, to: string): string {
  let result = text;
  stepsOf(text).forEach((step, index) => {
    for (const side of ["input_map", "output_map"] as const) {
      entriesOf(step, side).forEach((entry, at) => {
        if (textOf(entry, "value") !== from) return;
        result = setAt(result, ["ensemble_scheduling", "step", index, side, at, "value"], quoted(to));
      });
    }
  });
  return result;
}

/**
 * What the ensemble answers as `output` is `tensor`, which is called so from now on: the text has no other way to say it. What
 * was called so keeps its takers under another name.
 */
export function setOutput(text: string, output: string, tensor: string): string {
  if (tensor === output) return text;
  const aside = freeName(`${output}_before`, tensorNames(text));
  return renameTensor(renameTensor(text, output, aside), tensor, output);
}
