/** Which tensors of an ensemble an input may take, and why not the others; what the server says, by step. Pure. */
import { t } from "@lingui/core/macro";
import type { ConfigProblem } from "@/api/types";
import { type PipelineSpec, typeText } from "@/components/pipeline/graph";
import type { ConfigFields, FieldTensor } from "./config-fields";

/** As the drawing knows a model of the repository, and whether it takes batches. */
export interface StepModel {
  name: string;
  versions: readonly number[];
  batched: boolean;
  inputs: readonly ModelTensor[];
  outputs: readonly ModelTensor[];
}

export interface ModelTensor {
  name: string;
  datatype: string;
  shape: readonly number[];
  optional?: boolean;
}

interface Made extends ModelTensor {
  /** What its model calls it. */
  output: string;
  /** Its step, or null for an input of the ensemble. */
  step: number | null;
  batched: boolean;
}

export interface Choice {
  tensor: string;
  /** Type and shape; empty where they are not known. */
  type: string;
  /** "inputs", or the model of the step that makes it. */
  from: string;
  /** What that model calls it. */
  output: string;
  /** Why it does not fit; null where it does. */
  reason: string | null;
}

const typed = ({ name, datatype, dims }: FieldTensor) => ({ name, datatype, shape: dims });

/** Null where the text is no ensemble. */
export function specOf(fields: ConfigFields): PipelineSpec | null {
  if (!fields.ensemble) return null;
  return { inputs: fields.inputs.map(typed), outputs: fields.outputs.map(typed), steps: fields.ensemble };
}

function madeTensors(spec: PipelineSpec, models: readonly StepModel[], batched: boolean): Made[] {
  const inputs = spec.inputs.map((tensor) => ({ ...tensor, output: tensor.name, step: null, batched }));
  const inner = spec.steps.flatMap((step, index) => {
    const model = models.find((one) => one.name === step.model);
    return step.outputs.map(([name, tensor]): Made => {
      const known = model?.outputs.find((one) => one.name === name);
      return {
        name: tensor,
        output: name,
        datatype: known?.datatype ?? "",
        shape: known?.shape ?? [],
        step: index,
        batched: model?.batched ?? batched,
      };
    });
  });
  return [...inputs, ...inner];
}

/** Steps that wait for `index`, and itself: what they make cannot come to it. */
function waiting(spec: PipelineSpec, index: number): Set<number> {
  const found = new Set([index]);
  for (let grown = true; grown;) {
    grown = false;
    const made = new Set([...found].flatMap((at) => spec.steps[at]?.outputs.map(([, tensor]) => tensor) ?? []));
    spec.steps.forEach((step, at) => {
      if (found.has(at) || !step.inputs.some(([, tensor]) => made.has(tensor))) return;
      found.add(at);
      grown = true;
    });
  }
  return found;
}

const agree = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, axis) => size === b[axis] || size === -1 || b[axis] === -1);

/** As the server compares: with the batch axis, too, since a model without batching may spell it out. */
function shapesMeet(a: { shape: readonly number[]; batched: boolean }, b: { shape: readonly number[]; batched: boolean }): boolean {
  const full = (one: typeof a) => (one.batched ? [-1, ...one.shape] : one.shape);
  return agree(a.shape, b.shape) || agree(full(a), full(b));
}

function mismatch(made: Made, wanted: ModelTensor, batched: boolean): string | null {
  // What nobody tells is the server's to judge.
  if (made.datatype === "" || wanted.datatype === "") return null;
  if (made.datatype !== wanted.datatype) return t`${made.datatype}, wanted is ${wanted.datatype}`;
  return shapesMeet(made, { shape: wanted.shape, batched }) ? null : t`shape ${typeText(made)}, wanted is ${typeText(wanted)}`;
}

const fromOf = (spec: PipelineSpec, made: Made): string => (made.step === null ? t`inputs` : (spec.steps[made.step]?.model ?? ""));

/** What an input of step `index` may take; those that fit first. */
export function inputChoices(
  spec: PipelineSpec,
  models: readonly StepModel[],
  batched: boolean,
  index: number,
  input: ModelTensor,
): Choice[] {
  const own = models.find((one) => one.name === spec.steps[index]?.model);
  const after = waiting(spec, index);
  const choices = madeTensors(spec, models, batched).map((made): Choice => {
    const ring = made.step !== null && after.has(made.step);
    const reason = ring ? t`it is made after this step` : mismatch(made, input, own?.batched ?? batched);
    return { tensor: made.name, type: typeText(made), from: fromOf(spec, made), output: made.output, reason };
  });
  return sorted(choices);
}

/** What may be an output of the ensemble. */
export function outputChoices(spec: PipelineSpec, models: readonly StepModel[], batched: boolean, output: ModelTensor): Choice[] {
  const others = new Set(spec.outputs.map((one) => one.name).filter((name) => name !== output.name));
  const choices = madeTensors(spec, models, batched).map((made): Choice => {
    let reason = mismatch(made, output, batched);
    if (made.step === null) reason = t`it is an input of the ensemble`;
    else if (others.has(made.name)) reason = t`it is another output`;
    return { tensor: made.name, type: typeText(made), from: fromOf(spec, made), output: made.output, reason };
  });
  return sorted(choices);
}

/** Those that fit first. A name that two steps give, which the checks refuse, is one choice. */
const sorted = (choices: Choice[]): Choice[] => {
  const single = choices.filter((one, index) => choices.findIndex((other) => other.tensor === one.tensor) === index);
  return [...single.filter((one) => one.reason === null), ...single.filter((one) => one.reason !== null)];
};

/** Why a tensor between steps cannot be called so; null where it can. */
export function renameProblem(name: string, taken: ReadonlySet<string>): string | null {
  if (name.trim() === "") return t`A tensor needs a name`;
  return taken.has(name) ? t`Another tensor is called ${name}` : null;
}

/** What the checks say of one step; `null`: of the steps as a whole. */
export function stepProblems(problems: readonly ConfigProblem[], index: number | null): ConfigProblem[] {
  return problems.filter((problem) => {
    if (!problem.field?.startsWith("ensemble_scheduling")) return false;
    const at = /^ensemble_scheduling(?:\[0\])?\.step\[(\d+)\]/.exec(problem.field)?.[1];
    return index === null ? at === undefined : at === String(index);
  });
}
