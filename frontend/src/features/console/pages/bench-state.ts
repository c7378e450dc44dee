/** What the form of a model holds, as one request. Pure. */
import { t } from "@lingui/core/macro";
import type { ConsoleModel, TestCase } from "@/api/types";
import { caseTensors } from "../cases/case-values";
import { buildInput } from "../request/build-input";
import { withFill, withTensor } from "../request/fill-draft";
import { isUntouched, newDraft, type Batch, type InputDraft, type TensorSpec } from "../request/input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";
import { readRequest } from "../request/request-json";
import type { CallRecord } from "../results/outcome";

export interface BuiltRequest {
  inputs: BuiltInput[];
  problem: string | null;
  /** An input still waits to be filled: nothing is wrong yet. */
  waiting: boolean;
}

export function buildAll(drafts: readonly InputDraft[], batch: Batch): BuiltRequest {
  const inputs: BuiltInput[] = [];
  for (const draft of drafts) {
    if (!draft.include) continue;
    const built = buildInput(draft, batch);
    if (!built.ok) return { inputs, problem: built.error, waiting: isUntouched(draft, batch) };
    inputs.push(built.input);
  }
  return { inputs, problem: null, waiting: false };
}

export function builtFromJson(text: string, drafts: readonly InputDraft[], batch: Batch): BuiltRequest {
  const read = readRequest(text, drafts, batch);
  return read.ok ? { inputs: read.inputs, problem: null, waiting: false } : { inputs: [], problem: read.error, waiting: false };
}

/** Filled with zeros, so that the first call is one press away; a picture is for the person to choose. */
function openingDraft(input: TensorSpec, batched: boolean): InputDraft {
  const draft = newDraft(input);
  return draft.optional || draft.mode === "image" ? draft : withFill(draft, { on: batched, size: 1 }, "zeros");
}

export interface Opening {
  drafts: InputDraft[];
  size: number;
  /** Why a saved case could not be taken over as it is. */
  problem: string | null;
}

/** A captured request as a saved case, with why parts of it cannot be sent again. */
export interface Replay extends Pick<TestCase, "name" | "inputs"> {
  told: string;
}

/** What of a captured request is not sent again as it was. */
function notReplayed(model: ConsoleModel, replay: Replay): string[] {
  const missing = model.inputs.filter((input) => !input.optional && !replay.inputs.some((one) => one.name === input.name));
  return [
    ...(replay.told ? [`${replay.told}.`] : []),
    ...(missing.length > 0
      ? [t`Not from the captured request, and filled with zeros: ${missing.map((input) => input.name).join(", ")}.`]
      : []),
  ];
}

/** From a saved case or a captured request, else from the last call of this model, else zeros. */
export function opening(model: ConsoleModel, saved: TestCase | Replay | null, last: CallRecord | undefined): Opening {
  const batched = model.max_batch_size > 0;
  const fresh = () => model.inputs.map((input) => openingDraft(input, batched));
  if (saved === null) {
    if (last && last.drafts.length === model.inputs.length) return { drafts: last.drafts, size: last.batchSize, problem: null };
    return { drafts: fresh(), size: 1, problem: null };
  }
  try {
    const tensors = caseTensors(saved);
    const size = batched ? (tensors[0]?.shape[0] ?? 1) : 1;
    const drafts = model.inputs.map((input) => {
      const tensor = tensors.find((one) => one.name === input.name && one.datatype === input.datatype);
      const draft = newDraft(input);
      if (!tensor) return draft.optional ? draft : openingDraft(input, batched);
      return withTensor(draft, { on: batched, size }, tensor, "told" in saved ? saved.name : t`test case ${saved.name}`);
    });
    const unknown = tensors.filter(
      (tensor) => !model.inputs.some((input) => input.name === tensor.name && input.datatype === tensor.datatype),
    );
    const problems = "told" in saved ? notReplayed(model, saved) : [];
    if (unknown.length > 0) {
      problems.push(t`The model does not take ${unknown.map((tensor) => `${tensor.name} (${tensor.datatype})`).join(", ")} any more.`);
    }
    return { drafts, size, problem: problems.join(" ") || null };
  } catch (error) {
    return { drafts: fresh(), size: 1, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** A warm-up request of the model's configuration, made here. */
export function warmupDrafts(model: ConsoleModel, index: number, drafts: readonly InputDraft[]): { drafts: InputDraft[]; size: number } {
  const sample = model.warmup?.[index];
  const size = Math.max(1, sample?.batch_size ?? 1);
  const batch = { on: model.max_batch_size > 0, size };
  return {
    size,
    drafts: drafts.map((draft) => {
      const wanted = sample?.inputs[draft.name];
      if (!wanted) return draft;
      const sizes = Object.fromEntries(draft.dims.flatMap((dim, axis) => (dim < 0 ? [[axis, String(wanted.shape[axis] ?? 1)]] : [])));
      return withFill({ ...draft, sizes }, batch, wanted.kind === "random" ? "uniform" : "zeros");
    }),
  };
}
