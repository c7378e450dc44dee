/** Numbers as pixels: heat-maps of any sheet, pictures of tensors that look like one. Pure; RGBA bytes, row by row. */
import { t } from "@lingui/core/macro";
import { imageLayouts, type ImageLayout } from "@/inference/tensor/image-tensor";

// Dark to bright with evenly rising lightness, safe for every kind of colour vision (blue, teal, green, yellow).
const STOPS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const;

/** The colour of a share from 0 to 1. */
export function heatColour(share: number): [number, number, number] {
  const at = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const low = STOPS[Math.floor(at)] ?? STOPS[0];
  const high = STOPS[Math.min(STOPS.length - 1, Math.floor(at) + 1)] ?? low;
  const rest = at - Math.floor(at);
  const mix = (index: 0 | 1 | 2) => Math.round(low[index] + (high[index] - low[index]) * rest);
  return [mix(0), mix(1), mix(2)];
}

export interface Range {
  low: number;
  high: number;
}

/** Of the finite values; null where there are none. */
export function finiteRange(values: ArrayLike<number>): Range | null {
  let [low, high] = [Infinity, -Infinity];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? NaN;
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : null;
}

const HEAT_STEPS = 256;
const HEAT = Array.from({ length: HEAT_STEPS }, (_, index) => heatColour(index / (HEAT_STEPS - 1)));

/** One pixel per value; what is not finite stays see-through. */
export function heatPixels(values: ArrayLike<number>, range: Range): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(values.length * 4);
  const width = range.high - range.low || 1;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? NaN;
    if (!Number.isFinite(value)) continue;
    const [red, green, blue] = HEAT[Math.round(((value - range.low) / width) * (HEAT_STEPS - 1))] ?? [0, 0, 0];
    pixels[index * 4] = red;
    pixels[index * 4 + 1] = green;
    pixels[index * 4 + 2] = blue;
    pixels[index * 4 + 3] = 255;
  }
  return pixels;
}

export interface PictureShape {
  layout: Pick<ImageLayout, "channels" | "channelsFirst">;
  height: number;
  width: number;
  /** Pictures in the tensor: its leading axes multiplied. */
  count: number;
}

const SMALLEST_SIDE = 8;

/** How a tensor holds pictures; null when its shape is not a picture's. Leading axes are a batch. */
export function pictureShape(shape: readonly number[], datatype: string): PictureShape | null {
  if (shape.length >= 3) {
    const [layout] = imageLayouts(shape.slice(-3)).filter((item) => item.height > 0 && item.width > 0);
    if (layout) {
      const count = shape.slice(0, -3).reduce((product, size) => product * size, 1);
      return { layout, height: layout.height, width: layout.width, count };
    }
  }
  const [height = 0, width = 0] = shape.slice(-2);
  // Two axes alone are a picture only where the type says so; else they are a table.
  if (shape.length >= 2 && datatype === "UINT8" && height >= SMALLEST_SIDE && width >= SMALLEST_SIDE) {
    const count = shape.slice(0, -2).reduce((product, size) => product * size, 1);
    return { layout: { channels: 1, channelsFirst: true }, height, width, count };
  }
  return null;
}

/** How values become 0 to 255: as they are for bytes, times 255 within 0 and 1, else stretched from least to largest. */
export function pictureScale(datatype: string, range: Range): { times: number; plus: number; words: string } {
  if (datatype === "UINT8") return { times: 1, plus: 0, words: t`0 to 255 as they are` };
  if (range.low >= 0 && range.high <= 1) return { times: 255, plus: 0, words: t`0 to 1` };
  const times = 255 / (range.high - range.low || 1);
  return { times, plus: -range.low * times, words: t`stretched from least to largest` };
}

export function picturePixels(
  values: ArrayLike<number>,
  shape: Pick<PictureShape, "layout" | "height" | "width">,
  scale: { times: number; plus: number },
): Uint8ClampedArray<ArrayBuffer> {
  const { channels, channelsFirst } = shape.layout;
  const count = shape.height * shape.width;
  const pixels = new Uint8ClampedArray(count * 4);
  const at = (pixel: number, channel: number) =>
    (values[channelsFirst ? channel * count + pixel : pixel * channels + channel] ?? 0) * scale.times + scale.plus;
  for (let pixel = 0; pixel < count; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) pixels[pixel * 4 + channel] = at(pixel, channels === 1 ? 0 : channel);
    pixels[pixel * 4 + 3] = channels === 4 ? at(pixel, 3) : 255;
  }
  return pixels;
}

const MAGIC: readonly [string, readonly number[]][] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46]],
];

/** The media type of an encoded picture, by its first bytes. */
export function pictureType(bytes: Uint8Array): string | null {
  return MAGIC.find(([, magic]) => magic.every((byte, index) => bytes[index] === byte))?.[0] ?? null;
}
