/** Inputs filled by the page: with samples, with what another mode held, with a saved tensor. */
import { t } from "@lingui/core/macro";
import { datatypeInfo, elementText, type Element, type Elements } from "@/inference/tensor/datatypes";
import { fillElements, newFill, type Fill, type FillKind } from "@/inference/tensor/samples";
import { elementCount, resolveAxes } from "@/inference/tensor/shape";
import { buildInput } from "./build-input";
import { fitsCells, fitsGrid, type Batch, type InputDraft, type InputMode } from "./input-draft";

/** Above so many elements data is kept as it is, and not shown as text. */
const TEXT_LIMIT = 2048;

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

/** Data that is valid: in cells or a table where it fits, else made when it is sent. */
export function withFill(draft: InputDraft, batch: Batch, fill: Fill | FillKind): InputDraft {
  const chosen = typeof fill === "string" ? newFill(fill, draft.datatype, 1 + Math.floor(Math.random() * 999)) : fill;
  const axes = resolveAxes(draft.dims, draft.sizes) ?? draft.dims.map((size) => Math.max(size, 1));
  const sizes = Object.fromEntries(draft.dims.flatMap((size, axis) => (size < 0 ? [[axis, String(axes[axis])]] : [])));
  const sized = { ...draft, sizes, include: true, fill: chosen };
  const shape = batch.on ? [batch.size, ...axes] : axes;
  const count = elementCount(shape);
  const mode = fitsCells(sized, batch) ? "cells" : fitsGrid(sized, batch) && count <= TEXT_LIMIT ? "grid" : "sample";
  if (mode === "sample") return { ...sized, mode };
  return { ...sized, mode, cells: fillElements(draft.datatype, count, chosen).map(elementText) };
}

const isText = (elements: Elements): boolean => Array.from(elements).every((value) => !(value instanceof Uint8Array));

/** Filled with a tensor: as cells or table, as text, or, when large, as bytes under a name. */
export function withTensor(
  draft: InputDraft,
  batch: Batch,
  tensor: { shape: readonly number[]; elements: Elements },
  name: string,
): InputDraft {
  const axes = batch.on ? tensor.shape.slice(1) : tensor.shape;
  const sizes = Object.fromEntries(draft.dims.flatMap((size, axis) => (size < 0 ? [[axis, String(axes[axis] ?? 1)]] : [])));
  const sized = { ...draft, sizes, include: true };
  const sizedBatch = batch.on ? { on: true, size: tensor.shape[0] ?? 1 } : batch;
  if (isText(tensor.elements) && tensor.elements.length <= TEXT_LIMIT) {
    const cells = Array.from(tensor.elements, elementText);
    if (fitsCells(sized, sizedBatch)) return { ...sized, mode: "cells", cells };
    if (fitsGrid(sized, sizedBatch)) return { ...sized, mode: "grid", cells };
  }
  const elements = Array.from(tensor.elements, (value): Element => (typeof value === "bigint" ? value.toString() : value));
  return { ...sized, mode: "file", file: { name, elements, shape: [...tensor.shape], note: t`as it was sent` } };
}

/** Another way to fill the input, with what it holds now where that can be shown. */
export function switchMode(draft: InputDraft, batch: Batch, mode: InputMode): InputDraft {
  const switched = { ...draft, mode };
  if (mode === "image" || mode === "file" || mode === "sample") return switched;
  const now = buildInput(draft, batch);
  if (!now.ok || !isText(now.input.elements) || now.input.elements.length > TEXT_LIMIT) return switched;
  const texts = Array.from(now.input.elements, elementText);
  if (mode === "paste") return { ...switched, pasted: nestedText(texts, now.input.shape, draft.datatype) };
  const axes = batch.on ? now.input.shape.slice(1) : now.input.shape;
  const sizes = Object.fromEntries(draft.dims.flatMap((size, axis) => (size < 0 ? [[axis, String(axes[axis])]] : [])));
  return { ...switched, sizes, cells: texts };
}
