/** Which ways of looking fit an output; the first is the one it opens with. Pure. */
import { t } from "@lingui/core/macro";
import { areProbabilities, isClassTensor } from "./class-scores";
import { isNumeric, type OutputTensor } from "./output-tensor";
import { pictureShape, pictureType } from "./pixels";

export type View = "classes" | "values" | "heat" | "picture" | "text" | "json";

export const VIEW_NAMES: Record<View, string> = {
  classes: t`Classes`,
  values: t`Table`,
  heat: t`Heat-map`,
  picture: t`Picture`,
  text: t`Text`,
  json: "JSON",
};

/** Encoded pictures among the items of a BYTES tensor. */
export const picturesOf = (tensor: Pick<OutputTensor, "datatype" | "elements">): Uint8Array<ArrayBuffer>[] =>
  tensor.datatype === "BYTES"
    ? Array.from(tensor.elements).filter(
        (value): value is Uint8Array<ArrayBuffer> => value instanceof Uint8Array && pictureType(value) !== null,
      )
    : [];

type Fits = (tensor: OutputTensor) => boolean;

function isSheet({ shape }: OutputTensor): boolean {
  const [rows = 1, columns = 1] = shape.slice(-2);
  return shape.length >= 2 && rows >= 2 && columns >= 2;
}

const drawable: Fits = ({ datatype, complete }) => isNumeric(datatype) && complete;

// In the order of the switch. Classes, heat-maps and pictures of a part of the values would be wrong, so they need all of them.
const FITS: readonly (readonly [View, Fits])[] = [
  ["classes", ({ datatype, shape, complete }) => complete && isClassTensor(datatype, shape)],
  ["picture", (tensor) => (drawable(tensor) && pictureShape(tensor.shape, tensor.datatype) !== null) || picturesOf(tensor).length > 0],
  ["text", ({ datatype }) => datatype === "BYTES"],
  ["values", () => true],
  ["heat", (tensor) => drawable(tensor) && isSheet(tensor)],
  ["json", () => true],
];

/** So few numbers that sum to anything are seldom scores of classes. */
const FEW_SCORES = 10;

/** The values along the last axis, wherever one looks, are shares of one whole. */
function sharesOfOne({ shape, elements }: OutputTensor): boolean {
  const width = shape.at(-1) ?? 0;
  const row = (at: number) => Array.from({ length: width }, (_, index) => Number(elements[at + index]));
  for (let at = 0; at < elements.length && width > 0; at += width) if (!areProbabilities(row(at))) return false;
  return elements.length > 0;
}

/** What its values speak against, although its shape allows it: it is there, but nothing opens with it. */
function doubtful(tensor: OutputTensor, views: readonly View[], labelled: boolean): View | null {
  const [first] = views;
  if (first === "picture" && drawable(tensor) && sharesOfOne(tensor)) return "picture"; // a step in each row, a class in each column
  if (first === "classes" && !labelled && (tensor.shape.at(-1) ?? 0) < FEW_SCORES && !sharesOfOne(tensor)) return "classes";
  return null;
}

/** `labelled`: its classes have names. */
export function viewsOf(tensor: OutputTensor, labelled = false): View[] {
  const views = FITS.filter(([, fits]) => fits(tensor)).map(([view]) => view);
  const last = doubtful(tensor, views, labelled);
  return last === null ? views : [...views.filter((view) => view !== last && view !== "json"), last, "json"];
}
