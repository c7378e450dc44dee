/** Which ways of looking fit an output; the first is the one it opens with. Pure. */
import { isClassTensor } from "./class-scores";
import { isNumeric, type OutputTensor } from "./output-tensor";
import { pictureShape, pictureType } from "./pixels";

export type View = "classes" | "values" | "heat" | "picture" | "text" | "json";

export const VIEW_NAMES: Record<View, string> = {
  classes: "Classes",
  values: "Table",
  heat: "Heat-map",
  picture: "Picture",
  text: "Text",
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

export const viewsOf = (tensor: OutputTensor): View[] => FITS.filter(([, fits]) => fits(tensor)).map(([view]) => view);
