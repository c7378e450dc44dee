/** Two answers to the same question, value by value. Pure. */
import { t } from "@lingui/core/macro";
import { isNumeric, numbersOf, outputTensor, type OutputTensor } from "./output-tensor";
import type { WireOutput } from "@/inference/socket/messages";
import { shapeText } from "@/inference/tensor/shape";

export interface Difference {
  name: string;
  /** Why there is nothing to compare; null when there is. */
  reason: string | null;
  equal: number;
  count: number;
  largest: number | null;
  mean: number | null;
  /** Best class of each, for [N] and [B, N]; null otherwise. */
  sameBest: boolean | null;
}

const none = (name: string, reason: string): Difference => ({
  name,
  reason,
  equal: 0,
  count: 0,
  largest: null,
  mean: null,
  sameBest: null,
});

function bestClasses(tensor: OutputTensor): number[] | null {
  const classes = tensor.shape.at(-1) ?? 0;
  if (tensor.shape.length === 0 || tensor.shape.length > 2 || classes < 2 || !isNumeric(tensor.datatype)) return null;
  return Array.from({ length: tensor.elements.length / classes }, (_, item) => {
    const row = numbersOf(tensor.elements, item * classes, classes);
    return row.indexOf(Math.max(...row));
  });
}

function compared(before: OutputTensor, after: OutputTensor): Difference {
  const count = Math.min(before.elements.length, after.elements.length);
  const numeric = isNumeric(before.datatype);
  let [equal, largest, sum] = [0, 0, 0];
  const [old, now] = numeric ? [numbersOf(before.elements), numbersOf(after.elements)] : [null, null];
  for (let index = 0; index < count; index += 1) {
    if (String(before.elements[index]) === String(after.elements[index])) equal += 1;
    else if (old && now) {
      const step = Math.abs((now[index] ?? NaN) - (old[index] ?? NaN));
      largest = Number.isNaN(step) ? NaN : Math.max(largest, step);
      sum += step;
    }
  }
  const best = bestClasses(before);
  return {
    name: after.name,
    reason: null,
    equal,
    count,
    largest: numeric ? largest : null,
    mean: numeric && count > 0 ? sum / count : null,
    sameBest: best ? String(best) === String(bestClasses(after)) : null,
  };
}

const ONLY = { before: t`only the other call answered it`, after: t`only this call answered it` };

/** `only`: what is said of an output that one of the two lacks. */
export function differences(before: readonly WireOutput[], after: readonly WireOutput[], only = ONLY): Difference[] {
  const names = [...new Set([...after, ...before].map((output) => output.name))];
  return names.map((name) => {
    const old = before.find((output) => output.name === name);
    const now = after.find((output) => output.name === name);
    if (!old || !now) return none(name, old ? only.before : only.after);
    if (old.datatype !== now.datatype) return none(name, t`${old.datatype} there, ${now.datatype} here`);
    if (String(old.shape) !== String(now.shape)) return none(name, t`${shapeText(old.shape)} there, ${shapeText(now.shape)} here`);
    return compared(outputTensor(old), outputTensor(now));
  });
}
