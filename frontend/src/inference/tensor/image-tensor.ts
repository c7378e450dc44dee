/** From the pixels of a picture to the numbers of a tensor, with the preprocessing that the model was trained with. */
import { t } from "@lingui/core/macro";
import type { Shape } from "./shape";

export interface ImageLayout {
  channelsFirst: boolean;
  channels: 1 | 3 | 4;
  /** -1 where the model takes any size. */
  height: number;
  width: number;
  /** Leading axes of size 1 (or any) before the picture itself. */
  leading: number;
}

export type Fit = "fit" | "crop" | "stretch";
type ChannelOrder = "rgb" | "bgr";

/** Every value becomes (value / divide - mean) / std; mean and std belong to red, green and blue. */
export interface Normalisation {
  divide: number;
  mean: readonly [number, number, number];
  std: readonly [number, number, number];
}

const NONE = [0, 0, 0] as const;
const UNIT = [1, 1, 1] as const;

/** How models are trained. Two programs call their scaling "Inception", and they differ: both are here by formula. */
export const SCALES = {
  raw: { label: t`0 to 255`, divide: 1, mean: NONE, std: UNIT },
  unit: { label: t`0 to 1 (x / 255)`, divide: 255, mean: NONE, std: UNIT },
  signed: { label: t`-1 to 1 (x / 127.5 - 1)`, divide: 127.5, mean: UNIT, std: UNIT },
  inception: { label: t`-1 to 1 (x / 128 - 1)`, divide: 128, mean: UNIT, std: UNIT },
  vgg: { label: t`VGG (x - 123, 117, 104)`, divide: 1, mean: [123, 117, 104], std: UNIT },
  imagenet: { label: t`ImageNet mean, std`, divide: 255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
} as const satisfies Record<string, Normalisation & { label: string }>;
export type Scale = keyof typeof SCALES | "custom";

export interface ImageOptions {
  fit: Fit;
  order: ChannelOrder;
  scale: Scale;
  /** In force with the scale "custom". */
  custom: Normalisation;
  /** Light strokes on dark ground, as in handwritten digits. */
  invert: boolean;
  /** For sides that the model leaves free; null: as the picture is. */
  width: number | null;
  height: number | null;
}

function normalisationOf(options: Pick<ImageOptions, "scale" | "custom">): Normalisation {
  return options.scale === "custom" ? options.custom : SCALES[options.scale];
}

const SMALLEST_SIDE = 8;
const isSide = (size: number | undefined): size is number => size !== undefined && (size === -1 || size >= SMALLEST_SIDE);
const isChannels = (size: number | undefined): size is 1 | 3 | 4 => size === 1 || size === 3 || size === 4;

/** How a tensor of this shape (without the batch axis) may hold a picture: none, one, or both orders of the axes. */
export function imageLayouts(dims: Shape): ImageLayout[] {
  if (dims.length === 4 && (dims[0] === 1 || dims[0] === -1)) {
    return imageLayouts(dims.slice(1)).map((inner) => ({ ...inner, leading: 1 }));
  }
  if (dims.length !== 3) return [];
  const [first, second, third] = dims;
  const found: ImageLayout[] = [];
  if (isChannels(first) && isSide(second) && isSide(third))
    found.push({ channelsFirst: true, channels: first, height: second, width: third, leading: 0 });
  if (isChannels(third) && isSide(first) && isSide(second))
    found.push({ channelsFirst: false, channels: third, height: first, width: second, leading: 0 });
  // All three axes free: the shape says nothing, so both orders of three channels are offered.
  if (first === -1 && second === -1 && third === -1)
    for (const channelsFirst of [true, false]) found.push({ channelsFirst, channels: 3, height: -1, width: -1, leading: 0 });
  return found;
}

/** The likeliest of them. */
export const imageLayout = (dims: Shape): ImageLayout | null => imageLayouts(dims)[0] ?? null;

export interface Placement {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where the source lands on the target: `fit` keeps all of it, `crop` fills the target, `stretch` ignores the ratio. */
export function placeImage(source: { width: number; height: number }, target: { width: number; height: number }, fit: Fit): Placement {
  if (fit === "stretch") return { x: 0, y: 0, ...target };
  const ratios = [target.width / source.width, target.height / source.height] as const;
  const scale = fit === "fit" ? Math.min(...ratios) : Math.max(...ratios);
  const width = source.width * scale;
  const height = source.height * scale;
  return { x: (target.width - width) / 2, y: (target.height - height) / 2, width, height };
}

const mean3 = ([red, green, blue]: readonly [number, number, number]): number => (red + green + blue) / 3;

/** Multiplier and addend of a channel; -1 is grey, which takes the means over the colours. */
function linear(normalisation: Normalisation, channel: number): { times: number; plus: number } {
  const mean = channel < 0 ? mean3(normalisation.mean) : (normalisation.mean[channel] ?? 0);
  const std = channel < 0 ? mean3(normalisation.std) : (normalisation.std[channel] ?? 1);
  return { times: 1 / (normalisation.divide * std), plus: -mean / std };
}

/**
 * RGBA bytes (row by row) to one picture's elements. Grey uses the luma weights of BT.601. Mean and deviation
 * belong to the colour, whatever the channel order.
 */
export function pixelsToTensor(
  rgba: Uint8ClampedArray | Uint8Array,
  size: { width: number; height: number },
  layout: Pick<ImageLayout, "channels" | "channelsFirst">,
  options: Pick<ImageOptions, "order" | "scale" | "custom" | "invert">,
): Float32Array {
  const pixels = size.width * size.height;
  const { channels, channelsFirst } = layout;
  const result = new Float32Array(pixels * channels);
  const normalisation = normalisationOf(options);
  for (let channel = 0; channel < channels; channel += 1) {
    const colour = options.order === "bgr" && channels >= 3 && channel < 3 ? 2 - channel : channel;
    const { times, plus } = linear(normalisation, channels === 1 ? -1 : colour);
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      let value = channels === 1 ? luma(rgba, pixel * 4) : (rgba[pixel * 4 + colour] ?? 0);
      if (options.invert && channel < 3) value = 255 - value;
      result[channelsFirst ? channel * pixels + pixel : pixel * channels + channel] = value * times + plus;
    }
  }
  return result;
}

/** The way back: one picture's elements as RGBA bytes, as near as rounding and grey allow. */
export function tensorToPixels(
  values: ArrayLike<number>,
  size: { width: number; height: number },
  layout: Pick<ImageLayout, "channels" | "channelsFirst">,
  options: Pick<ImageOptions, "order" | "scale" | "custom" | "invert">,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = size.width * size.height;
  const { channels, channelsFirst } = layout;
  const rgba = new Uint8ClampedArray(pixels * 4);
  const normalisation = normalisationOf(options);
  for (let colour = 0; colour < 4; colour += 1) {
    const channel = channels === 1 ? 0 : options.order === "bgr" && colour < 3 ? 2 - colour : colour;
    const { times, plus } = linear(normalisation, channels === 1 ? -1 : colour);
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      const value = ((values[channelsFirst ? channel * pixels + pixel : pixel * channels + channel] ?? 0) - plus) / times;
      rgba[pixel * 4 + colour] = colour === 3 && channels !== 4 ? 255 : options.invert && colour < 3 ? 255 - value : value;
    }
  }
  return rgba;
}

function luma(rgba: Uint8ClampedArray | Uint8Array, at: number): number {
  return 0.299 * (rgba[at] ?? 0) + 0.587 * (rgba[at + 1] ?? 0) + 0.114 * (rgba[at + 2] ?? 0);
}

/** Raw bytes for integer tensors, 0 to 1 for floats: the least surprising start. */
export function defaultOptions(datatype: string, layout: ImageLayout): ImageOptions {
  const float = datatype.startsWith("FP") || datatype === "BF16";
  return {
    fit: "crop",
    order: "rgb",
    scale: float ? (layout.channels === 3 ? "imagenet" : "unit") : "raw",
    custom: { divide: 255, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
    invert: false,
    width: null,
    height: null,
  };
}

// For models that take any size: large enough for most, small enough to send.
const FREE_SIDE_LIMIT = 640;
export const LARGEST_SIDE = 8192;

/** The size to draw at: the model's; where it is free, the one asked for, or the picture's own within a limit. */
export function pictureSize(
  layout: ImageLayout,
  picture: { width: number; height: number },
  options: Pick<ImageOptions, "width" | "height">,
): { width: number; height: number } {
  const width = layout.width === -1 ? options.width : layout.width;
  const height = layout.height === -1 ? options.height : layout.height;
  const side = (size: number) => Math.min(LARGEST_SIDE, Math.max(1, Math.round(size)));
  if (width !== null && height !== null) return { width, height };
  // One that is given leads; the other keeps the picture's proportions.
  if (width !== null) return { width, height: side((width * picture.height) / picture.width) };
  if (height !== null) return { width: side((height * picture.width) / picture.height), height };
  const shrink = Math.min(1, FREE_SIDE_LIMIT / Math.max(picture.width, picture.height));
  return { width: side(picture.width * shrink), height: side(picture.height * shrink) };
}
