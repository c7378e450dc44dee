/** From the pixels of a picture to the numbers of a tensor, with the preprocessing that the model was trained with. */
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
export type ChannelOrder = "rgb" | "bgr";
export type Scale = "raw" | "unit" | "signed" | "imagenet";

export interface ImageOptions {
  fit: Fit;
  order: ChannelOrder;
  scale: Scale;
  /** Light strokes on dark ground, as in handwritten digits. */
  invert: boolean;
}

const SMALLEST_SIDE = 8;
const IMAGENET_MEAN = [0.485, 0.456, 0.406] as const;
const IMAGENET_STD = [0.229, 0.224, 0.225] as const;

const isSide = (size: number | undefined): size is number =>
  size !== undefined && (size === -1 || size >= SMALLEST_SIDE);
const isChannels = (size: number | undefined): size is 1 | 3 | 4 => size === 1 || size === 3 || size === 4;

/** How a tensor of this shape (without the batch axis) would hold a picture; null when it cannot. */
export function imageLayout(dims: Shape): ImageLayout | null {
  if (dims.length === 4 && (dims[0] === 1 || dims[0] === -1)) {
    const inner = imageLayout(dims.slice(1));
    return inner ? { ...inner, leading: 1 } : null;
  }
  if (dims.length !== 3) return null;
  const [first, second, third] = dims;
  if (isChannels(first) && isSide(second) && isSide(third))
    return { channelsFirst: true, channels: first, height: second, width: third, leading: 0 };
  if (isChannels(third) && isSide(first) && isSide(second))
    return { channelsFirst: false, channels: third, height: first, width: second, leading: 0 };
  return null;
}

export interface Placement {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where the source lands on the target: `fit` keeps all of it, `crop` fills the target, `stretch` ignores the ratio. */
export function placeImage(
  source: { width: number; height: number },
  target: { width: number; height: number },
  fit: Fit,
): Placement {
  if (fit === "stretch") return { x: 0, y: 0, ...target };
  const ratios = [target.width / source.width, target.height / source.height] as const;
  const scale = fit === "fit" ? Math.min(...ratios) : Math.max(...ratios);
  const width = source.width * scale;
  const height = source.height * scale;
  return { x: (target.width - width) / 2, y: (target.height - height) / 2, width, height };
}

function scaled(value: number, channel: number, scale: Scale): number {
  if (scale === "raw") return value;
  if (scale === "unit") return value / 255;
  if (scale === "signed") return value / 127.5 - 1;
  return (value / 255 - (IMAGENET_MEAN[channel] ?? 0.449)) / (IMAGENET_STD[channel] ?? 0.226);
}

/**
 * RGBA bytes (row by row) to one picture's elements. Grey uses the luma weights of BT.601. The mean and deviation of
 * `imagenet` belong to the colour, whatever the channel order.
 */
export function pixelsToTensor(
  rgba: Uint8ClampedArray | Uint8Array,
  size: { width: number; height: number },
  layout: Pick<ImageLayout, "channels" | "channelsFirst">,
  options: Pick<ImageOptions, "order" | "scale" | "invert">,
): Float32Array {
  const pixels = size.width * size.height;
  const { channels, channelsFirst } = layout;
  const result = new Float32Array(pixels * channels);
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    for (let channel = 0; channel < channels; channel += 1) {
      const colour = options.order === "bgr" && channels >= 3 && channel < 3 ? 2 - channel : channel;
      let value = channels === 1 ? luma(rgba, pixel * 4) : (rgba[pixel * 4 + colour] ?? 0);
      if (options.invert && channel < 3) value = 255 - value;
      result[channelsFirst ? channel * pixels + pixel : pixel * channels + channel] = scaled(
        value,
        channels === 1 ? -1 : colour,
        options.scale,
      );
    }
  }
  return result;
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
    invert: false,
  };
}
