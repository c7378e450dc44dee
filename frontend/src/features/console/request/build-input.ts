/** The tensor that a filled-in input becomes, or why it is none yet. */
import { t } from "@lingui/core/macro";
import { datatypeInfo, parseElement, type Element, type Elements } from "@/inference/tensor/datatypes";
import { readPasted } from "@/inference/tensor/pasted-data";
import { tensorBytes } from "@/inference/tensor/raw-bytes";
import { fillElements } from "@/inference/tensor/samples";
import { elementCount, shapeDifference, shapeText } from "@/inference/tensor/shape";
import { cellsOf, expectedShape, layoutOf, modeOf, type Batch, type InputDraft, type InputMode } from "./input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";

export type Built = { ok: true; input: BuiltInput } | { ok: false; error: string };

const failed = (draft: InputDraft, error: string): Built => ({ ok: false, error: `${draft.name}: ${error}` });
const NO_SIZE = t`give every variable axis a size`;

function built(draft: InputDraft, shape: number[], elements: Elements): Built {
  return {
    ok: true,
    input: { name: draft.name, datatype: draft.datatype, shape, elements, bytes: tensorBytes(draft.datatype, elements) },
  };
}

function fromCells(draft: InputDraft, batch: Batch): Built {
  const shape = expectedShape(draft, batch);
  if (shape.includes(-1)) return failed(draft, NO_SIZE);
  const elements: Element[] = [];
  for (const [index, cell] of cellsOf(draft, batch).entries()) {
    const { value, error } = parseElement(draft.datatype, cell);
    if (error !== null) return failed(draft, t`value ${index + 1}: ${error}`);
    elements.push(value);
  }
  return built(draft, shape, elements);
}

/** Fits given data to the expected shape; variable axes without a size take theirs from the data. */
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
  if (open.length > 1) return { error: t`give all variable axes but one a size, or paste nested JSON` };
  if (first !== undefined) {
    if (fixed === 0 || count % fixed !== 0) return { error: t`${count} values do not fill ${shapeText(expected)}` };
    return { shape: expected.map((size, axis) => (axis === first ? count / fixed : size)) };
  }
  if (count !== fixed) return { error: t`${count} values sent, ${fixed} expected (${shapeText(expected)})` };
  return { shape: [...expected] };
}

function fromData(draft: InputDraft, batch: Batch, elements: readonly Element[], given: number[] | null): Built {
  // Data decides variable axes: the typed sizes are for cells and samples.
  const expected = batch.on ? [batch.size, ...draft.dims] : draft.dims;
  const free = expected.filter((size) => size === -1).length;
  const fit = fitShape(given, elements.length, free > 1 && (given === null || given.length < 2) ? expectedShape(draft, batch) : expected);
  return "error" in fit ? failed(draft, fit.error) : built(draft, fit.shape, elements);
}

function fromPaste(draft: InputDraft, batch: Batch): Built {
  const pasted = readPasted(draft.pasted, draft.datatype);
  return pasted.ok ? fromData(draft, batch, pasted.data.elements, pasted.data.shape) : failed(draft, pasted.error);
}

function fromFile(draft: InputDraft, batch: Batch): Built {
  return draft.file ? fromData(draft, batch, draft.file.elements, draft.file.shape) : failed(draft, t`drop a file, or switch to values`);
}

function fromPictures(draft: InputDraft, batch: Batch): Built {
  const layout = layoutOf(draft);
  const [first] = draft.pictures;
  if (layout === null || first === undefined) return failed(draft, t`drop a picture, or switch to values`);
  const other = draft.pictures.find((picture) => picture.height !== first.height || picture.width !== first.width);
  if (other)
    return failed(
      draft,
      t`${other.filename} is ${other.width} × ${other.height}, ${first.filename} ${first.width} × ${first.height}: a batch needs one size`,
    );
  const items = batch.on ? batch.size : 1;
  const all = new Float32Array(first.elements.length * items);
  for (let item = 0; item < items; item += 1)
    all.set((draft.pictures[item % draft.pictures.length] ?? first).elements, item * first.elements.length);
  const sides = layout.channelsFirst ? [layout.channels, first.height, first.width] : [first.height, first.width, layout.channels];
  const item = layout.leading === 1 ? [1, ...sides] : sides;
  const shape = batch.on ? [batch.size, ...item] : item;
  return built(draft, shape, datatypeInfo(draft.datatype).kind === "float" ? all : whole(all, draft.datatype));
}

/** Rounded, and kept within the type: a scale that is not for bytes must not wrap around. */
function whole(values: Float32Array, datatype: string): Float32Array {
  const { min = 0n, max = 0n } = datatypeInfo(datatype);
  return values.map((value) => Math.min(Number(max), Math.max(Number(min), Math.round(value))));
}

function fromFill(draft: InputDraft, batch: Batch): Built {
  const shape = expectedShape(draft, batch);
  if (shape.includes(-1)) return failed(draft, NO_SIZE);
  return built(draft, shape, fillElements(draft.datatype, elementCount(shape), draft.fill));
}

const BUILDERS: Record<InputMode, (draft: InputDraft, batch: Batch) => Built> = {
  cells: fromCells,
  grid: fromCells,
  paste: fromPaste,
  image: fromPictures,
  file: fromFile,
  sample: fromFill,
};

// Drafts are never changed in place, so one that is the same object gives the same tensor: typing in one input does not
// read a large neighbour again.
const known = new WeakMap<InputDraft, { batch: string; built: Built }>();

export function buildInput(draft: InputDraft, batch: Batch): Built {
  const key = batch.on ? String(batch.size) : "none";
  const cached = known.get(draft);
  if (cached?.batch === key) return cached.built;
  const result = BUILDERS[modeOf(draft, batch)](draft, batch);
  known.set(draft, { batch: key, built: result });
  return result;
}
