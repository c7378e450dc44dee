/** Inputs out of a request as KServe v2 JSON. */
import { t } from "@lingui/core/macro";
import { parseExactly } from "@/inference/socket/exact-json";
import { parseElement, type Element } from "@/inference/tensor/datatypes";
import { elementCount, shapeDifference } from "@/inference/tensor/shape";
import { tensorBytes } from "@/inference/tensor/raw-bytes";
import type { Batch, InputDraft } from "./input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";

export type Read = { ok: true; inputs: BuiltInput[] } | { ok: false; error: string };

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function flatten(data: unknown[]): unknown[] {
  return data.flatMap((value) => (Array.isArray(value) ? flatten(value) : [value]));
}

function readInput(raw: unknown, drafts: readonly InputDraft[], batch: Batch): BuiltInput | string {
  if (!isObject(raw) || typeof raw["name"] !== "string") return t`Every input needs a "name".`;
  const { name } = raw;
  const known = drafts.find((draft) => draft.name === name);
  if (known === undefined) return t`The model has no input ${name}. It has: ${drafts.map((draft) => draft.name).join(", ")}.`;
  const datatype = typeof raw["datatype"] === "string" ? raw["datatype"] : known.datatype;
  if (datatype !== known.datatype) return t`${name}: the model takes ${known.datatype}, the request says ${datatype}.`;
  const data = raw["data"];
  if (!Array.isArray(data)) return t`${name}: "data" must be a list.`;
  const { shape } = raw;
  if (!Array.isArray(shape) || !shape.every((axis) => Number.isInteger(axis) && axis >= 0))
    return t`${name}: "shape" must be a list of whole numbers.`;
  const axes = shape as number[];
  const difference = shapeDifference(axes, batch.on ? [-1, ...known.dims] : known.dims);
  if (difference !== null) return `${name}: ${difference}`;
  const flat = flatten(data);
  if (flat.length !== elementCount(axes)) return t`${name}: ${flat.length} values, but the shape holds ${elementCount(axes)}.`;
  const elements: Element[] = [];
  for (const [index, value] of flat.entries()) {
    const parsed = parseElement(datatype, String(value));
    if (parsed.error !== null) return t`${name}: value ${index + 1}: ${parsed.error}`;
    elements.push(parsed.value);
  }
  return { name, datatype, shape: axes, elements, bytes: tensorBytes(datatype, elements) };
}

export function readRequest(text: string, drafts: readonly InputDraft[], batch: Batch): Read {
  let body: unknown;
  try {
    body = parseExactly(text);
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
  if (!isObject(body) || !Array.isArray(body["inputs"])) return { ok: false, error: t`The request needs a list "inputs".` };
  const inputs: BuiltInput[] = [];
  for (const raw of body["inputs"] as unknown[]) {
    const input = readInput(raw, drafts, batch);
    if (typeof input === "string") return { ok: false, error: input };
    inputs.push(input);
  }
  const missing = drafts.find((draft) => !draft.optional && !inputs.some((input) => input.name === draft.name));
  return missing ? { ok: false, error: t`${missing.name} is missing.` } : { ok: true, inputs };
}
