/** Outputs that say something about each pixel of a picture: class numbers, scores per class, heat. Pure. */
import { t } from "@lingui/core/macro";
import { finiteRange, heatPixels } from "../results/pixels";
import { isNumeric, type OutputTensor } from "../results/output-tensor";
import { classColour } from "./colours";

export interface MaskShape {
  height: number;
  width: number;
  /** Values per pixel: scores of as many classes, or one. */
  channels: number;
  channelsFirst: boolean;
}

interface Size {
  width: number;
  height: number;
}

const SMALLEST_SIDE = 8;
const MOST_CHANNELS = 512;
const MOST_LABELS = 64;

/** Masks may be coarser than the picture, but they have its proportions. */
function covers(height: number, width: number, picture: Size): boolean {
  if (height < SMALLEST_SIDE || width < SMALLEST_SIDE) return false;
  return Math.abs(width - (height * picture.width) / picture.height) <= Math.max(1, width * 0.05);
}

/** How a tensor lies over the picture; null when it does not. `batched`: its first axis counts the pictures. */
export function maskShape(shape: readonly number[], batched: boolean, picture: Size): MaskShape | null {
  const [a = 0, b = 0, c = 0, ...more] = (batched ? shape.slice(1) : shape).filter((axis) => axis !== 1);
  if (more.length > 0) return null;
  if (c === 0) return covers(a, b, picture) ? { height: a, width: b, channels: 1, channelsFirst: true } : null;
  if (covers(b, c, picture) && a <= MOST_CHANNELS) return { height: b, width: c, channels: a, channelsFirst: true };
  if (covers(a, b, picture) && c <= MOST_CHANNELS) return { height: a, width: b, channels: c, channelsFirst: false };
  return null;
}

export type MaskMode = "labels" | "best" | `heat-${number}`;

export const isMaskType = (datatype: string): boolean => isNumeric(datatype) || datatype === "BOOL";
const isWhole = (datatype: string): boolean => datatype === "BOOL" || /^U?INT/.test(datatype);

/** The ways to paint it, with their names; the first is the likeliest. */
export function maskModes(tensor: Pick<OutputTensor, "datatype" | "stats">, { channels }: MaskShape): { value: MaskMode; label: string }[] {
  const heat = Array.from({ length: channels }, (_, channel) => ({
    value: `heat-${channel}` as const,
    label: channels === 1 ? t`Heat-map` : t`Heat-map of channel ${channel}`,
  }));
  if (channels > 1) return [{ value: "best", label: t`Best class of each pixel` }, ...heat];
  const labels = { value: "labels" as const, label: t`A colour per class number` };
  if (!isWhole(tensor.datatype)) return heat;
  // Many numbers are brightness rather than classes.
  return (tensor.stats?.max ?? 0) >= MOST_LABELS && tensor.stats?.max !== 255 ? [...heat, labels] : [labels, ...heat];
}

const NAMES = /mask|segm|heat|salien|attention|depth|label|class/i;

/** Whether to lay it over the picture unasked: three channels alone may be a picture themselves. */
export const isLikelyMask = (tensor: Pick<OutputTensor, "name" | "datatype">, { channels }: MaskShape): boolean =>
  NAMES.test(tensor.name) || (channels !== 3 && channels !== 4 && (channels > 1 || isWhole(tensor.datatype)));

export interface PaintedMask {
  pixels: Uint8ClampedArray<ArrayBuffer>;
  /** Classes that were found, most pixels first; empty for heat-maps. */
  found: { id: number; share: number }[];
}

const valueAt = (values: ArrayLike<number>, { channels, channelsFirst, height, width }: MaskShape, pixel: number, channel: number) =>
  values[channelsFirst ? channel * height * width + pixel : pixel * channels + channel] ?? NaN;

function bestChannel(values: ArrayLike<number>, shape: MaskShape, pixel: number): number {
  let [best, highest] = [0, -Infinity];
  for (let channel = 0; channel < shape.channels; channel += 1) {
    const value = valueAt(values, shape, pixel, channel);
    if (value > highest) [best, highest] = [channel, value];
  }
  return best;
}

function paintClasses(classOf: (pixel: number) => number, count: number, hideFirst: boolean): PaintedMask {
  const pixels = new Uint8ClampedArray(count * 4);
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < count; pixel += 1) {
    const id = classOf(pixel);
    counts.set(id, (counts.get(id) ?? 0) + 1);
    if (Number.isNaN(id) || (hideFirst && id === 0)) continue;
    pixels.set([...classColour(id), 255], pixel * 4);
  }
  const found = [...counts].map(([id, size]) => ({ id, share: size / count })).sort((a, b) => b.share - a.share || a.id - b.id);
  return { pixels, found: found.filter(({ id }) => !Number.isNaN(id) && !(hideFirst && id === 0)) };
}

/** The mask of one picture in colours; `hideFirst` leaves class 0, most often the background, see-through. */
export function paintMask(values: ArrayLike<number>, shape: MaskShape, mode: MaskMode, hideFirst: boolean): PaintedMask {
  const count = shape.height * shape.width;
  if (mode === "best") return paintClasses((pixel) => bestChannel(values, shape, pixel), count, hideFirst);
  if (mode === "labels") return paintClasses((pixel) => valueAt(values, shape, pixel, 0), count, hideFirst);
  const channel = Number(mode.slice("heat-".length));
  const heat = Float64Array.from({ length: count }, (_, pixel) => valueAt(values, shape, pixel, channel));
  const range = finiteRange(heat);
  return { pixels: range ? heatPixels(heat, range) : new Uint8ClampedArray(count * 4), found: [] };
}
