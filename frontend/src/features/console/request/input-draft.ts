/** What is typed for one input, and the tensor that it becomes. Inputs are known by position: their names may hold anything. */
import type { Dim } from "@/api/types";
import { datatypeInfo, parseElement, type Element } from "../tensor/datatypes";
import { imageLayout, type ImageLayout, type ImageOptions } from "../tensor/image-tensor";
import { readPasted } from "../tensor/pasted-data";
import { tensorBytes, type Elements } from "../tensor/raw-bytes";
import { sampleElements, type SampleKind } from "../tensor/samples";
import { dimsOf, elementCount, resolveAxes, shapeDifference, shapeText } from "../tensor/shape";

export type InputMode = "cells" | "paste" | "image" | "sample";

export interface Picture {
  filename: string;
  options: ImageOptions;
  /** One picture's elements, prepared as the options say. */
  elements: Float32Array;
  height: number;
  width: number;
}

export interface InputDraft {
  name: string;
  datatype: string;
  /** Without the batch axis. */
  dims: number[];
  optional: boolean;
  include: boolean;
  mode: InputMode;
  /** Typed sizes of variable axes, by position. */
  sizes: Record<number, string>;
  /** One text per element of the whole batch, row by row. */
  cells: string[];
  pasted: string;
  picture: Picture | null;
  /** Generated data that is too large to show as text; made anew for each shape. */
  sample: SampleKind | null;
}

export interface Batch {
  /** False for models without a batch axis. */
  on: boolean;
  size: number;
}

export interface BuiltInput {
  name: string;
  datatype: string;
  shape: number[];
  elements: Elements;
  bytes: number;
}

export type Built = { ok: true; input: BuiltInput } | { ok: false; error: string };

/** Up to so many elements per item, and items, are typed one by one. */
export const MAX_CELLS = 32;
export const MAX_CELL_ROWS = 8;

export function newDraft(tensor: {
  name: string;
  datatype: string;
  shape: readonly Dim[];
  optional?: boolean;
}): InputDraft {
  const dims = dimsOf(tensor.shape);
  const draft: InputDraft = {
    name: tensor.name,
    datatype: tensor.datatype,
    dims,
    optional: tensor.optional ?? false,
    include: !tensor.optional,
    mode: "paste",
    sizes: Object.fromEntries(dims.flatMap((size, axis) => (size < 0 ? [[axis, "1"]] : []))),
    cells: [],
    pasted: "",
    picture: null,
    sample: null,
  };
  const layout = layoutOf(draft);
  const looksLikeImage =
    layout !== null && (layout.height === -1 || layout.height >= 16) && (layout.width === -1 || layout.width >= 16);
  return { ...draft, mode: looksLikeImage ? "image" : fitsCells(draft, { on: true, size: 1 }) ? "cells" : "paste" };
}

export function layoutOf(draft: Pick<InputDraft, "dims" | "datatype">): ImageLayout | null {
  const { kind } = datatypeInfo(draft.datatype);
  return kind === "integer" || kind === "float" ? imageLayout(draft.dims) : null;
}

/** Elements of one item, or null while a variable axis has no size. */
export function itemCount(draft: InputDraft): number | null {
  const axes = resolveAxes(draft.dims, draft.sizes);
  return axes === null ? null : elementCount(axes);
}

export function fitsCells(draft: InputDraft, batch: Batch): boolean {
  const count = itemCount(draft);
  const fixedRank = draft.dims.length <= 1 || (count !== null && count <= 4);
  return count !== null && count >= 1 && count <= MAX_CELLS && fixedRank && (!batch.on || batch.size <= MAX_CELL_ROWS);
}

/** The modes that this input offers now. */
export function modesOf(draft: InputDraft, batch: Batch): InputMode[] {
  return [
    ...(fitsCells(draft, batch) ? (["cells"] as const) : []),
    ...(layoutOf(draft) ? (["image"] as const) : []),
    "paste",
    ...(draft.sample ? (["sample"] as const) : []),
  ];
}

/** The mode in force: one that stopped fitting (a larger batch) gives way. */
export function modeOf(draft: InputDraft, batch: Batch): InputMode {
  return draft.mode === "cells" && !fitsCells(draft, batch) ? "paste" : draft.mode;
}

const fill = (datatype: string): string =>
  datatypeInfo(datatype).kind === "bool" ? "false" : datatypeInfo(datatype).kind === "bytes" ? "" : "0";

/** The cells of the whole batch, padded or cut to what the shape asks. */
export function cellsOf(draft: InputDraft, batch: Batch): string[] {
  const total = (itemCount(draft) ?? 0) * (batch.on ? batch.size : 1);
  return Array.from({ length: total }, (_, index) => draft.cells[index] ?? fill(draft.datatype));
}

function expectedShape(draft: InputDraft, batch: Batch): number[] {
  const axes = draft.dims.map((size, axis) =>
    size >= 0 ? size : Number(resolveAxes([size], { 0: draft.sizes[axis] ?? "" })?.[0] ?? -1),
  );
  return batch.on ? [batch.size, ...axes] : axes;
}

const failed = (draft: InputDraft, error: string): Built => ({ ok: false, error: `${draft.name}: ${error}` });

function built(draft: InputDraft, shape: number[], elements: Elements): Built {
  return {
    ok: true,
    input: {
      name: draft.name,
      datatype: draft.datatype,
      shape,
      elements,
      bytes: tensorBytes(draft.datatype, elements),
    },
  };
}

function fromCells(draft: InputDraft, batch: Batch): Built {
  const shape = expectedShape(draft, batch);
  if (shape.includes(-1)) return failed(draft, "give every variable axis a size");
  const elements: Element[] = [];
  for (const [index, cell] of cellsOf(draft, batch).entries()) {
    const { value, error } = parseElement(draft.datatype, cell);
    if (error !== null) return failed(draft, `value ${index + 1}: ${error}`);
    elements.push(value);
  }
  return built(draft, shape, elements);
}

/** Fits pasted data to the expected shape; variable axes without a size take theirs from the data. */
export function fitShape(
  given: readonly number[] | null,
  count: number,
  expected: readonly number[],
): { shape: number[] } | { error: string } {
  if (given !== null && given.length > 1) {
    // One item without its batch axis is meant as a batch of one.
    const whole = given.length === expected.length - 1 && expected[0] === 1 ? [1, ...given] : [...given];
    const difference = shapeDifference(whole, expected);
    return difference === null ? { shape: whole } : { error: difference };
  }
  const open = expected.flatMap((size, axis) => (size === -1 ? [axis] : []));
  const fixed = elementCount(expected.filter((size) => size !== -1));
  const [first] = open;
  if (open.length > 1) return { error: "give all variable axes but one a size, or paste nested JSON" };
  if (first !== undefined) {
    if (fixed === 0 || count % fixed !== 0) return { error: `${count} values do not fill ${shapeText(expected)}` };
    return { shape: expected.map((size, axis) => (axis === first ? count / fixed : size)) };
  }
  if (count !== fixed) return { error: `${count} values sent, ${fixed} expected (${shapeText(expected)})` };
  return { shape: [...expected] };
}

function fromPaste(draft: InputDraft, batch: Batch): Built {
  const pasted = readPasted(draft.pasted, draft.datatype);
  if (!pasted.ok) return failed(draft, pasted.error);
  const { elements, shape: given } = pasted.data;
  // Data decides variable axes: the typed sizes are for cells and samples.
  const expected = batch.on ? [batch.size, ...draft.dims] : draft.dims;
  const free = expected.filter((size) => size === -1).length;
  const fit = fitShape(
    given,
    elements.length,
    free > 1 && (given === null || given.length < 2) ? expectedShape(draft, batch) : expected,
  );
  return "error" in fit ? failed(draft, fit.error) : built(draft, fit.shape, elements);
}

function fromPicture(draft: InputDraft, batch: Batch): Built {
  const layout = layoutOf(draft);
  const { picture } = draft;
  if (layout === null || picture === null) return failed(draft, "drop a picture, or switch to values");
  const copies = batch.on ? batch.size : 1;
  const float = datatypeInfo(draft.datatype).kind === "float";
  const all = new Float32Array(picture.elements.length * copies);
  for (let copy = 0; copy < copies; copy += 1) all.set(picture.elements, copy * picture.elements.length);
  const sides = layout.channelsFirst
    ? [layout.channels, picture.height, picture.width]
    : [picture.height, picture.width, layout.channels];
  const item = layout.leading === 1 ? [1, ...sides] : sides;
  const shape = batch.on ? [batch.size, ...item] : item;
  return built(draft, shape, float ? all : all.map((value) => Math.round(value)));
}

function fromSample(draft: InputDraft, batch: Batch): Built {
  const shape = expectedShape(draft, batch);
  if (shape.includes(-1)) return failed(draft, "give every variable axis a size");
  const texts = sampleElements(draft.datatype, elementCount(shape), draft.sample ?? "zeros");
  return built(
    draft,
    shape,
    texts.map((text) => parseElement(draft.datatype, text).value),
  );
}

const BUILDERS: Record<InputMode, (draft: InputDraft, batch: Batch) => Built> = {
  cells: fromCells,
  paste: fromPaste,
  image: fromPicture,
  sample: fromSample,
};

// Drafts are never changed in place, so one that is the same object gives the same tensor: typing in one input does not
// read a large neighbour again, and a random sample stays the one that was shown.
const known = new WeakMap<InputDraft, { batch: string; built: Built }>();

export function buildInput(draft: InputDraft, batch: Batch): Built {
  const key = batch.on ? String(batch.size) : "none";
  const cached = known.get(draft);
  if (cached?.batch === key) return cached.built;
  const result = BUILDERS[modeOf(draft, batch)](draft, batch);
  known.set(draft, { batch: key, built: result });
  return result;
}

/** Above so many elements a sample is made when it is sent, and not shown as text. */
export const SAMPLE_TEXT_LIMIT = 2048;

/** Fills an input with data that is valid: in cells, as pasted text, or, when large, as a generated sample. */
export function withSample(draft: InputDraft, batch: Batch, kind: SampleKind, random?: () => number): InputDraft {
  const axes = resolveAxes(draft.dims, draft.sizes) ?? draft.dims.map((size) => Math.max(size, 1));
  const sizes = Object.fromEntries(draft.dims.flatMap((size, axis) => (size < 0 ? [[axis, String(axes[axis])]] : [])));
  const sized = { ...draft, sizes, include: true };
  const shape = batch.on ? [batch.size, ...axes] : axes;
  if (elementCount(shape) > SAMPLE_TEXT_LIMIT) return { ...sized, mode: "sample", sample: kind };
  const elements = sampleElements(draft.datatype, elementCount(shape), kind, random);
  if (fitsCells(sized, batch)) return { ...sized, mode: "cells", cells: elements };
  return { ...sized, mode: "paste", pasted: nestedText(elements, shape, draft.datatype) };
}

/** Nothing was given yet: not an error to shout about. */
export function isUntouched(draft: InputDraft, batch: Batch): boolean {
  const mode = modeOf(draft, batch);
  return mode === "paste" ? draft.pasted.trim() === "" : mode === "image" && draft.picture === null;
}

/** Nested JSON, short lists on one line. */
export function nestedText(elements: readonly unknown[], shape: readonly number[], datatype: string): string {
  const quote = datatypeInfo(datatype).kind === "bytes";
  const write = (value: unknown) => (quote ? JSON.stringify(value) : String(value));
  const [first = 0, ...rest] = shape;
  if (rest.length === 0) return `[${elements.map(write).join(", ")}]`;
  const step = elementCount(rest);
  // A line per row that one can read; what is short stays on one line.
  const separator = elementCount(shape) <= 32 ? ", " : ",\n";
  return `[${Array.from({ length: first }, (_, index) => nestedText(elements.slice(index * step, (index + 1) * step), rest, datatype)).join(separator)}]`;
}
