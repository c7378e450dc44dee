/** The pictures that a call sent, as the model saw them. Pure. */
import type { BuiltInput, InputDraft } from "../request/input-draft";
import { layoutOf } from "../request/input-draft";
import { finiteRange, picturePixels, pictureScale, pictureShape } from "../results/pixels";
import { isNumeric, numbersOf } from "../results/output-tensor";
import { defaultOptions, tensorToPixels, type ImageLayout, type ImageOptions } from "../tensor/image-tensor";

export interface SentPicture {
  /** The input's name. */
  name: string;
  width: number;
  height: number;
  /** Pictures of the batch. */
  count: number;
  /** RGBA bytes of one of them. */
  pixels: (item: number) => Uint8ClampedArray<ArrayBuffer>;
}

/** How the form made the picture, so that scaling and channel order are undone; null where it was given as numbers. */
function recipeOf(draft: InputDraft | undefined): { layout: ImageLayout; options: ImageOptions } | null {
  if (draft?.mode !== "image") return null;
  const layout = layoutOf(draft);
  return layout && { layout, options: draft.imageOptions ?? defaultOptions(draft.datatype, layout) };
}

function pictureOf(input: BuiltInput, draft: InputDraft | undefined): SentPicture | null {
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
    pixels: (item) => {
      const values = numbersOf(input.elements, item * size, size);
      if (recipe) return tensorToPixels(values, shape, layout, recipe.options);
      return picturePixels(values, shape, pictureScale(input.datatype, finiteRange(values) ?? { low: 0, high: 1 }));
    },
  };
}

function shapeAs(shape: readonly number[], { channelsFirst }: ImageLayout) {
  const [first = 0, second = 0, third = 0] = shape.slice(-3);
  const [height, width] = channelsFirst ? [second, third] : [first, second];
  return { height, width, count: shape.slice(0, -3).reduce((product, axis) => product * axis, 1) };
}

export const sentPictures = (sent: readonly BuiltInput[], drafts: readonly InputDraft[]): SentPicture[] =>
  sent.flatMap((input) => pictureOf(input, drafts.find((draft) => draft.name === input.name)) ?? []);
