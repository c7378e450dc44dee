/** What is typed for one input, and which ways to fill it fit. Inputs are known by position: their names may hold anything. */
import type { Dim } from "@/api/types";
import { datatypeInfo, type Element } from "@/inference/tensor/datatypes";
import { imageLayouts, type ImageLayout, type ImageOptions } from "@/inference/tensor/image-tensor";
import { newFill, type Fill } from "@/inference/tensor/samples";
import { dimsOf, elementCount, resolveAxes } from "@/inference/tensor/shape";

export type InputMode = "cells" | "grid" | "paste" | "image" | "file" | "sample";

export interface Picture {
  filename: string;
  /** One picture's elements, prepared as the options say. */
  elements: Float32Array;
  height: number;
  width: number;
}

export interface FileInput {
  name: string;
  elements: readonly Element[];
  shape: number[] | null;
  note: string;
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
  /** One text per element of the whole batch, row by row; cells and grid show the same. */
  cells: string[];
  pasted: string;
  /** Item i of the batch is picture i, round and round. */
  pictures: Picture[];
  imageOptions: ImageOptions | null;
  /** Which of the layouts that the shape allows. */
  layout: number;
  file: FileInput | null;
  /** Data made in the browser, anew for each shape. */
  fill: Fill;
  /** Sliders from 0 to 1 beside the numbers. */
  sliders: boolean;
}

export interface Batch {
  /** False for models without a batch axis. */
  on: boolean;
  size: number;
}

export interface TensorSpec {
  name: string;
  datatype: string;
  shape: readonly Dim[];
  optional?: boolean;
}

/** Up to so many elements per item, and items, are typed one by one. */
const MAX_CELLS = 32;
const MAX_CELL_ROWS = 8;
/** Up to so many elements are a table that one can edit. */
const MAX_GRID = 20_000;

const SMALLEST_PICTURE = 16;
const PICTURE_NAME = /image|img|picture|photo|pixel|frame/i;

export function newDraft(tensor: TensorSpec): InputDraft {
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
    pictures: [],
    imageOptions: null,
    layout: 0,
    file: null,
    fill: newFill("zeros", tensor.datatype),
    sliders: false,
  };
  const alone = { on: true, size: 1 };
  if (looksLikeImage(draft)) return { ...draft, mode: "image" };
  return { ...draft, mode: fitsCells(draft, alone) ? "cells" : fitsGrid(draft, alone) ? "grid" : "paste" };
}

/** Floats and bytes whose shape is a picture's; other integers only where the name says so too. */
function looksLikeImage(draft: InputDraft): boolean {
  const layout = layoutOf(draft);
  if (layout === null || !draft.dims.includes(layout.channels)) return false;
  const sides = [layout.height, layout.width];
  if (!sides.every((side) => side === -1 || side >= SMALLEST_PICTURE)) return false;
  const { kind } = datatypeInfo(draft.datatype);
  return kind === "float" || draft.datatype === "UINT8" || PICTURE_NAME.test(draft.name);
}

export function layoutsOf(draft: Pick<InputDraft, "dims" | "datatype">): ImageLayout[] {
  const { kind } = datatypeInfo(draft.datatype);
  return kind === "integer" || kind === "float" ? imageLayouts(draft.dims) : [];
}

export function layoutOf(draft: Pick<InputDraft, "dims" | "datatype" | "layout">): ImageLayout | null {
  const layouts = layoutsOf(draft);
  return layouts[draft.layout] ?? layouts[0] ?? null;
}

/** Elements of one item, or null while a variable axis has no size. */
export function itemCount(draft: InputDraft): number | null {
  const axes = resolveAxes(draft.dims, draft.sizes);
  return axes === null ? null : elementCount(axes);
}

/** Of the whole batch, with variable axes as they are typed; -1 where a size is missing. */
export function expectedShape(draft: InputDraft, batch: Batch): number[] {
  const axes = draft.dims.map((size, axis) => (size >= 0 ? size : Number(resolveAxes([size], { 0: draft.sizes[axis] ?? "" })?.[0] ?? -1)));
  return batch.on ? [batch.size, ...axes] : axes;
}

export function fitsCells(draft: InputDraft, batch: Batch): boolean {
  const count = itemCount(draft);
  const fixedRank = draft.dims.length <= 1 || (count !== null && count <= 4);
  return count !== null && count >= 1 && count <= MAX_CELLS && fixedRank && (!batch.on || batch.size <= MAX_CELL_ROWS);
}

export function fitsGrid(draft: InputDraft, batch: Batch): boolean {
  const shape = expectedShape(draft, batch);
  const count = elementCount(shape);
  return !shape.includes(-1) && count >= 1 && count <= MAX_GRID;
}

/** The modes that this input offers now. */
export function modesOf(draft: InputDraft, batch: Batch): InputMode[] {
  return [
    ...(fitsCells(draft, batch) ? (["cells"] as const) : []),
    ...(layoutOf(draft) ? (["image"] as const) : []),
    ...(fitsGrid(draft, batch) ? (["grid"] as const) : []),
    "paste",
    "file",
    "sample",
  ];
}

/** The mode in force: one that stopped fitting (a larger batch) gives way. */
export function modeOf(draft: InputDraft, batch: Batch): InputMode {
  if (draft.mode === "cells" && !fitsCells(draft, batch)) return fitsGrid(draft, batch) ? "grid" : "paste";
  return draft.mode === "grid" && !fitsGrid(draft, batch) ? "paste" : draft.mode;
}

const fillText = (datatype: string): string =>
  datatypeInfo(datatype).kind === "bool" ? "false" : datatypeInfo(datatype).kind === "bytes" ? "" : "0";

/** The cells of the whole batch, padded or cut to what the shape asks. */
export function cellsOf(draft: InputDraft, batch: Batch): string[] {
  const total = (itemCount(draft) ?? 0) * (batch.on ? batch.size : 1);
  const empty = fillText(draft.datatype);
  return Array.from({ length: total }, (_, index) => draft.cells[index] ?? empty);
}

/** Nothing was given yet: not an error to shout about. */
export function isUntouched(draft: InputDraft, batch: Batch): boolean {
  const mode = modeOf(draft, batch);
  if (mode === "paste") return draft.pasted.trim() === "";
  return mode === "image" ? draft.pictures.length === 0 : mode === "file" && draft.file === null;
}
