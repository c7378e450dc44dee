/** Outputs as boxes on a picture: which tensor holds what, and where each box lies. Pure. */
import { t } from "@lingui/core/macro";
import { isNumeric, numbersOf, type OutputTensor } from "../results/output-tensor";
import type { Box } from "./box";
import { looksRaw, rawLayout, type RawLayout } from "./raw-boxes";

export const FORMATS = {
  xyxy: t`left, top, right, bottom`,
  yxyx: t`top, left, bottom, right`,
  xywh: t`left, top, width, height`,
  cxcywh: t`centre x, centre y, width, height`,
} as const;
export type BoxFormat = keyof typeof FORMATS;
export type BoxUnit = "pixels" | "share";

export interface BoxMapping {
  /** Names of outputs; null where there is none. */
  boxes: string;
  scores: string | null;
  classes: string | null;
  format: BoxFormat;
  unit: BoxUnit;
  /** Guesses per anchor, of which boxes are still to be chosen (`raw-boxes.ts`); null for boxes. */
  raw: RawLayout | null;
}

interface Size {
  width: number;
  height: number;
}

/** Rows of numbers that belong to one picture. */
interface Rows {
  values: Float64Array;
  columns: number;
  count: number;
}

/** Without the batch, and without axes of one in front. */
function innerShape(shape: readonly number[], batched: boolean): number[] {
  const inner = batched ? shape.slice(1) : [...shape];
  while (inner.length > 2 && inner[0] === 1) inner.shift();
  return inner;
}

// A row of boxes may go on after its four numbers: score and class, or (YOLOv7) the picture first, then class and score.
const FIRST: Record<number, { at: number; score: number | null; classId: number | null }> = {
  4: { at: 0, score: null, classId: null },
  5: { at: 0, score: 4, classId: null },
  6: { at: 0, score: 4, classId: 5 },
  7: { at: 1, score: 6, classId: 5 },
};

const BOXES = /box|detect|rect|^output/i;
const OTHERS = /num|count|score|conf|prob|class|label|categor|mask/i;
const SCORES = /score|conf|prob/i;
const CLASSES = /class|label|categor/i;
const COUNTS = /num|count|valid/i;

/** Outputs that could be boxes: rows of four to seven numbers, or guesses per anchor. */
export const boxCandidates = (tensors: readonly OutputTensor[], batched: boolean): OutputTensor[] =>
  tensors.filter(({ datatype, shape, complete }) => {
    const inner = innerShape(shape, batched);
    return complete && isNumeric(datatype) && ((inner.length === 2 && (inner[1] ?? 0) in FIRST) || rawLayout(inner) !== null);
  });

function rowsOf(tensor: OutputTensor, batched: boolean, item: number): Rows {
  const inner = innerShape(tensor.shape, batched);
  const size = inner.reduce((product, axis) => product * axis, 1);
  const values = numbersOf(tensor.elements, batched ? item * size : 0, size);
  const columns = inner.length >= 2 ? (inner.at(-1) ?? 1) : 1;
  return { values, columns, count: columns > 0 ? values.length / columns : 0 };
}

/** Of an output with one number per box, or one per box and class. */
function rowsBeside(tensor: OutputTensor, batched: boolean, item: number, count: number): Rows {
  const { values } = rowsOf(tensor, batched, item);
  return { values, columns: count > 0 ? values.length / count : 0, count };
}

/** Outputs that go on along the same boxes. */
export function besideBoxes(tensors: readonly OutputTensor[], batched: boolean, boxes: OutputTensor): OutputTensor[] {
  const { count } = rowsOf(boxes, batched, 0);
  return tensors.filter((tensor) => {
    const inner = innerShape(tensor.shape, batched);
    while (inner.length > 1 && inner[0] === 1 && count !== 1) inner.shift();
    return tensor !== boxes && tensor.complete && isNumeric(tensor.datatype) && inner.length <= 2 && inner[0] === count;
  });
}

const isScores = (rows: Rows, column: number): boolean => {
  for (let row = 0; row < rows.count; row += 1) {
    const value = rows.values[row * rows.columns + column] ?? NaN;
    if (!(value >= 0 && value <= 1)) return false;
  }
  return rows.count > 0;
};

function guessFormat(name: string, { values, columns, count }: Rows, at: number): BoxFormat {
  if (/yxyx|detection_boxes/i.test(name)) return "yxyx";
  if (/cxcywh/i.test(name)) return "cxcywh";
  if (/xywh/i.test(name)) return "xywh";
  for (let row = 0; row < count; row += 1) {
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = values.subarray(row * columns + at, row * columns + at + 4);
    if (x2 < x1 || y2 < y1) return "cxcywh";
  }
  return "xyxy";
}

function guessUnit({ values, columns, count }: Rows, at: number): BoxUnit {
  for (let row = 0; row < count; row += 1)
    for (let column = at; column < at + 4; column += 1)
      // A little beyond 1: boxes may reach over the edge.
      if (Math.abs(values[row * columns + column] ?? 0) > 2) return "pixels";
  return "share";
}

const rawOf = ({ shape }: OutputTensor, batched: boolean): RawLayout | null => rawLayout(innerShape(shape, batched));

/** The values that belong to one picture. */
export const valuesOf = (tensor: OutputTensor, batched: boolean, item: number): Float64Array => rowsOf(tensor, batched, item).values;

function rawMapping(tensor: OutputTensor, batched: boolean, raw: RawLayout): BoxMapping {
  const values = valuesOf(tensor, batched, 0);
  const size = (at: number) => Math.abs(values[at] ?? 0);
  const places = Array.from({ length: 4 * raw.anchors }, (_, at) => (raw.numbersFirst ? at : Math.floor(at / 4) * raw.numbers + (at % 4)));
  const unit = places.some((at) => size(at) > 2) ? "pixels" : "share";
  return { boxes: tensor.name, scores: null, classes: null, format: "cxcywh", unit, raw };
}

/** The mapping for a chosen tensor of boxes, from names and values. */
export function mappingFor(tensor: OutputTensor, tensors: readonly OutputTensor[], batched: boolean): BoxMapping {
  const raw = rawOf(tensor, batched);
  if (raw) return rawMapping(tensor, batched, raw);
  const rows = rowsOf(tensor, batched, 0);
  const at = FIRST[rows.columns]?.at ?? 0;
  const beside = besideBoxes(tensors, batched, tensor);
  const named = (words: RegExp) => beside.find(({ name }) => words.test(name))?.name ?? null;
  return {
    boxes: tensor.name,
    scores: named(SCORES),
    classes: named(CLASSES),
    format: guessFormat(tensor.name, rows, at),
    unit: guessUnit(rows, at),
    raw: null,
  };
}

/** The likeliest mapping; null where nothing looks like boxes. */
export function guessMapping(tensors: readonly OutputTensor[], batched: boolean): BoxMapping | null {
  const likely = boxCandidates(tensors, batched).find((tensor) => {
    if (!BOXES.test(tensor.name) || OTHERS.test(tensor.name)) return false;
    const raw = rawOf(tensor, batched);
    if (raw) return looksRaw(valuesOf(tensor, batched, 0), raw);
    const rows = rowsOf(tensor, batched, 0);
    const { score } = FIRST[rows.columns] ?? { score: null };
    return /box|rect/i.test(tensor.name) || (score !== null && isScores(rows, score));
  });
  return likely ? mappingFor(likely, tensors, batched) : null;
}

/** Left, top, width and height. */
function placed([a = 0, b = 0, c = 0, d = 0]: ArrayLike<number> & Iterable<number>, format: BoxFormat): [number, number, number, number] {
  switch (format) {
    case "xyxy":
      return [a, b, c - a, d - b];
    case "yxyx":
      return [b, a, d - b, c - a];
    case "xywh":
      return [a, b, c, d];
    case "cxcywh":
      return [a - c / 2, b - d / 2, c, d];
  }
}

/** Score and class of one box, wherever they stand. */
function judged(row: number, boxes: Rows, scores: Rows | null, classes: Rows | null): Pick<Box, "score" | "classId"> {
  const own = FIRST[boxes.columns];
  const ownValue = (column: number | null | undefined) =>
    column === null || column === undefined ? null : (boxes.values[row * boxes.columns + column] ?? null);
  let score = ownValue(own?.score);
  let classId = ownValue(own?.classId);
  if (scores) {
    const line = scores.values.subarray(row * scores.columns, (row + 1) * scores.columns);
    const best = line.reduce((found, value, index) => (value > (line[found] ?? -Infinity) ? index : found), 0);
    score = line[best] ?? null;
    if (scores.columns > 1) classId = best;
  }
  if (classes) classId = classes.values[row * classes.columns] ?? null;
  return { score, classId };
}

/** How many of the rows are boxes, where an output says so; the others fill up. */
function toldCount(tensors: readonly OutputTensor[], batched: boolean, item: number): number | null {
  const told = tensors.find(({ name, shape }) => COUNTS.test(name) && innerShape(shape, batched).every((axis) => axis === 1));
  return told ? (rowsOf(told, batched, item).values[0] ?? null) : null;
}

/** The boxes of one picture, best score first; none of a raw mapping, whose boxes a worker chooses. */
export function boxesOf(mapping: BoxMapping, tensors: readonly OutputTensor[], batched: boolean, item: number, picture: Size): Box[] {
  const named = (name: string | null) => tensors.find((tensor) => tensor.name === name);
  const source = named(mapping.boxes);
  const boxes = source && rowsOf(source, batched, item);
  const start = boxes && FIRST[boxes.columns];
  if (!boxes || !start || mapping.raw) return [];
  const beside = (name: string | null) => {
    const tensor = named(name);
    return tensor ? rowsBeside(tensor, batched, item, boxes.count) : null;
  };
  const [scores, classes] = [beside(mapping.scores), beside(mapping.classes)];
  const count = Math.min(boxes.count, toldCount(tensors, batched, item) ?? boxes.count);
  const [across, down] = mapping.unit === "share" ? [1, 1] : [picture.width, picture.height];
  const found: Box[] = [];
  for (let row = 0; row < count; row += 1) {
    const from = row * boxes.columns + start.at;
    const [x, y, width, height] = placed(boxes.values.subarray(from, from + 4), mapping.format);
    if (![x, y, width, height].every(Number.isFinite)) continue;
    found.push({ x: x / across, y: y / down, width: width / across, height: height / down, ...judged(row, boxes, scores, classes) });
  }
  return found.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
}
