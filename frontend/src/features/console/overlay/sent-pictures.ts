/** The pictures that a call sent, as the model saw them. Pure. */
import type { InputDraft } from "../request/input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";
import { layoutOf } from "../request/input-draft";
import { finiteRange, picturePixels, pictureScale, pictureShape } from "../results/pixels";
import { isNumeric, numbersOf } from "../results/output-tensor";
import { encodedSize } from "./encoded-size";
import { defaultOptions, tensorToPixels, type ImageLayout, type ImageOptions } from "@/inference/tensor/image-tensor";

/** One of them: RGBA bytes, or the file as it was sent. */
export type Frame = { width: number; height: number } & ({ pixels: Uint8ClampedArray<ArrayBuffer> } | { file: Uint8Array });

export interface SentPicture {
  /** The input's name. */
  name: string;
  /** Of the first. */
  width: number;
  height: number;
  /** Pictures of the batch. */
  count: number;
  frame: (item: number) => Frame;
}

/** How the form made the picture, so that scaling and channel order are undone; null where it was given as numbers. */
function recipeOf(draft: InputDraft | undefined): { layout: ImageLayout; options: ImageOptions } | null {
  if (draft?.mode !== "image") return null;
  const layout = layoutOf(draft);
  return layout && { layout, options: draft.imageOptions ?? defaultOptions(draft.datatype, layout) };
}

/** Files, one per item; none where one of them is no picture. */
function filesOf({ name, elements }: BuiltInput): SentPicture | null {
  const frames = Array.from(elements, (file): Frame | null => {
    const size = file instanceof Uint8Array ? encodedSize(file) : null;
    return file instanceof Uint8Array && size ? { ...size, file } : null;
  }).filter((frame) => frame !== null);
  const [first] = frames;
  if (!first || frames.length !== elements.length) return null;
  return { name, width: first.width, height: first.height, count: frames.length, frame: (item) => frames[item] ?? first };
}

function pictureOf(input: BuiltInput, draft: InputDraft | undefined): SentPicture | null {
  if (input.datatype === "BYTES") return filesOf(input);
  if (!isNumeric(input.datatype)) return null;
  const recipe = recipeOf(draft);
  const shape = recipe ? { ...shapeAs(input.shape, recipe.layout), layout: recipe.layout } : pictureShape(input.shape, input.datatype);
  if (shape === null || shape.count < 1) return null;
  const { width, height, layout } = shape;
  const size = width * height * layout.channels;
  return {
    name: input.name,
    width,
    height,
    count: shape.count,
    frame: (item) => {
      const values = numbersOf(input.elements, item * size, size);
      const pixels = recipe
        ? tensorToPixels(values, shape, layout, recipe.options)
        : picturePixels(values, shape, pictureScale(input.datatype, finiteRange(values) ?? { low: 0, high: 1 }));
      return { width, height, pixels };
    },
  };
}

function shapeAs(shape: readonly number[], { channelsFirst }: ImageLayout) {
  const [first = 0, second = 0, third = 0] = shape.slice(-3);
  const [height, width] = channelsFirst ? [second, third] : [first, second];
  return { height, width, count: shape.slice(0, -3).reduce((product, axis) => product * axis, 1) };
}

export const sentPictures = (sent: readonly BuiltInput[], drafts: readonly InputDraft[]): SentPicture[] =>
  sent.flatMap(
    (input) =>
      pictureOf(
        input,
        drafts.find((draft) => draft.name === input.name),
      ) ?? [],
  );
