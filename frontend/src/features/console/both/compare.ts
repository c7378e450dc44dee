/** Answers of several deployments to one call: how each differs from the first. Pure. */
import { t } from "@lingui/core/macro";
import type { Outcome, StreamPart, WireOutput } from "@/inference/socket/messages";
import { elementText } from "@/inference/tensor/datatypes";
import { classLabel, isClassTensor, bestClasses } from "../results/class-scores";
import { isNumeric, numbersOf, outputTensor, type OutputTensor } from "../results/output-tensor";
import { differences, type Difference } from "../results/tensor-difference";
import { MISSING } from "@/components/format";

export interface Answered {
  /** Whom it was sent to. */
  to: string;
  outcome: Outcome;
  /** Of a stream: all responses. */
  parts: readonly StreamPart[];
}

/** Of a stream the last response. */
export const outputsOf = ({ outcome, parts }: Answered): readonly WireOutput[] =>
  outcome.kind !== "result" ? [] : outcome.outputs.length > 0 ? outcome.outputs : (parts.at(-1)?.outputs ?? []);

/** Why there is no answer; null where there is one. */
export function problemOf({ outcome }: Answered): string | null {
  if (outcome.kind === "result") return null;
  if (outcome.kind === "error") return outcome.message;
  return outcome.kind === "cancelled" ? t`Stopped` : t`The connection was lost; it may or may not have run.`;
}

/** A part of a text; `changed`: the first answer has something else there. */
export interface TextPart {
  text: string;
  changed: boolean;
}

const words = (text: string): string[] => text.match(/\s+|[^\s]+/g) ?? [];

/** What is the same before and behind, and what lies between, by words. */
export function textParts(first: string, other: string): TextPart[] {
  const [before, after] = [words(first), words(other)];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const parts = [
    { text: after.slice(0, start).join(""), changed: false },
    { text: after.slice(start, after.length - end).join(""), changed: true },
    { text: after.slice(after.length - end).join(""), changed: false },
  ];
  return parts.filter((part) => part.text !== "");
}

/** The best class of each row, with its label. */
function bestLabels(tensor: OutputTensor, labels: readonly string[] | null): string[] {
  const count = tensor.shape.at(-1) ?? 0;
  return Array.from({ length: tensor.elements.length / count }, (_, row) => {
    const [best = 0] = bestClasses(numbersOf(tensor.elements, row * count, count), 1);
    return classLabel(labels, best);
  });
}

/** "dog, the first cat", or of several rows how many agree; null where these are no scores of classes, or all agree. */
function labelChange(first: OutputTensor, other: OutputTensor, labels: readonly string[] | null): string | null {
  if (!first.complete || !other.complete || !isClassTensor(other.datatype, other.shape)) return null;
  const [before, after] = [bestLabels(first, labels), bestLabels(other, labels)];
  const changed = after.flatMap((label, row) => (label === before[row] ? [] : [row]));
  const [row] = changed;
  if (row === undefined) return null;
  const told = t`best class ${after[row] ?? MISSING}, of the first ${before[row] ?? MISSING}`;
  return after.length === 1 ? told : t`best class differs in ${changed.length} of ${after.length} rows: in row ${row} ${told}`;
}

const MOST_DRAWN = 4_000_000;

/** How far apart the values of two sheets or pictures are; null where that cannot be drawn, or nothing differs. */
export function apart(first: OutputTensor, other: OutputTensor): OutputTensor | null {
  const [rows = 1, columns = 1] = other.shape.slice(-2);
  const drawable = isNumeric(other.datatype) && other.shape.length >= 2 && rows >= 2 && columns >= 2 && other.elements.length <= MOST_DRAWN;
  if (!drawable || !first.complete || !other.complete) return null;
  const [before, after] = [numbersOf(first.elements), numbersOf(other.elements)];
  const steps = Array.from(after, (value, index) => Math.abs(value - (before[index] ?? NaN)));
  if (steps.every((step) => step === 0)) return null;
  return { ...other, name: t`${other.name}, distance`, datatype: "FP64", elements: steps, stats: null };
}

export interface OutputChange {
  difference: Difference;
  label: string | null;
  /** Of texts that differ. */
  texts: TextPart[][];
  distance: OutputTensor | null;
}

const MOST_TEXTS = 20;
const ONLY = { before: t`only the first answered it`, after: t`only this one answered it` };

/** How one output differs from the first answer's. */
export function changeOf(first: readonly WireOutput[], other: WireOutput, labels: readonly string[] | null): OutputChange {
  const same = first.find((output) => output.name === other.name);
  const [difference] = differences(same ? [same] : [], [other], ONLY);
  const found: OutputChange = { difference: difference as Difference, label: null, texts: [], distance: null };
  if (!same || found.difference.reason !== null || found.difference.equal === found.difference.count) return found;
  const [before, after] = [outputTensor(same), outputTensor(other)];
  if (other.datatype === "BYTES") {
    const count = Math.min(MOST_TEXTS, before.elements.length, after.elements.length);
    const text = (tensor: OutputTensor, index: number) => elementText(tensor.elements[index] ?? "");
    for (let index = 0; index < count; index += 1) {
      if (text(before, index) !== text(after, index)) found.texts.push(textParts(text(before, index), text(after, index)));
    }
    return found;
  }
  return { ...found, label: labelChange(before, after, labels), distance: apart(before, after) };
}
