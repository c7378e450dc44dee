import { describe, expect, it } from "vitest";
import { newDraft, type InputDraft } from "../request/input-draft";
import type { BuiltInput } from "@/inference/tensor/built-input";
import {
  defaultOptions,
  pixelsToTensor,
  tensorToPixels,
  type ImageLayout,
  type ImageOptions,
  type Scale,
} from "@/inference/tensor/image-tensor";
import { sentPictures, type Frame } from "./sent-pictures";

const SIZE = { width: 16, height: 8 };
const RGBA = Uint8ClampedArray.from({ length: SIZE.width * SIZE.height * 4 }, (_, at) => (at % 4 === 3 ? 255 : (at * 37) % 256));
const layout = (channelsFirst: boolean): ImageLayout => ({ ...SIZE, channels: 3, channelsFirst, leading: 0 });

const firstPixel = (frame: Frame | undefined) => (frame && "pixels" in frame ? Array.from(frame.pixels.subarray(0, 4)) : null);

describe("the way back from a tensor", () => {
  it.each<[Scale, ImageOptions["order"], boolean, boolean]>([
    ["raw", "rgb", true, false],
    ["unit", "bgr", true, false],
    ["imagenet", "bgr", false, false],
    ["vgg", "rgb", false, true],
    ["signed", "rgb", true, true],
  ])("undoes %s, %s (channels first: %s, inverted: %s)", (scale, order, channelsFirst, invert) => {
    const options = { ...defaultOptions("FP32", layout(channelsFirst)), scale, order, invert };
    const tensor = pixelsToTensor(RGBA, SIZE, layout(channelsFirst), options);
    expect(Array.from(tensorToPixels(tensor, SIZE, layout(channelsFirst), options))).toEqual(Array.from(RGBA));
  });
});

describe("pictures that were sent", () => {
  const input = (shape: number[], part: Partial<BuiltInput> = {}): BuiltInput => ({
    name: "x",
    datatype: "FP32",
    shape,
    elements: new Float32Array(shape.reduce((product, axis) => product * axis, 1)).fill(0.5),
    bytes: 0,
    ...part,
  });
  const draft = (dims: number[], mode: InputDraft["mode"]): InputDraft => ({
    ...newDraft({ name: "x", datatype: "FP32", shape: dims }),
    mode,
  });

  it("are one per item of the batch", () => {
    const [picture] = sentPictures([input([2, 3, 8, 16])], [draft([3, 8, 16], "file")]);
    expect(picture).toMatchObject({ name: "x", width: 16, height: 8, count: 2 });
    expect(firstPixel(picture?.frame(1))).toEqual([128, 128, 128, 255]);
  });

  it("lose the scaling of the form", () => {
    const shown = { ...draft([3, 16, 16], "image"), imageOptions: { ...defaultOptions("FP32", layout(true)), scale: "raw" as const } };
    const elements = new Float32Array(3 * 256).fill(7);
    const [picture] = sentPictures([input([1, 3, 16, 16], { elements })], [shown]);
    expect(firstPixel(picture?.frame(0))).toEqual([7, 7, 7, 255]);
  });

  const png = (width: number, height: number) =>
    Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, width, 0, 0, 0, height]);

  it("are files too, each of its own size", () => {
    const elements = [png(64, 48), png(32, 16)];
    const [picture] = sentPictures([input([2, 1], { datatype: "BYTES", elements })], []);
    expect(picture).toMatchObject({ width: 64, height: 48, count: 2 });
    expect(picture?.frame(1)).toEqual({ width: 32, height: 16, file: elements[1] });
  });

  it.each<[string, BuiltInput]>([
    ["files of which one is none", input([2], { datatype: "BYTES", elements: [png(8, 8), new Uint8Array(30)] })],
    ["no files at all", input([0], { datatype: "BYTES", elements: [] })],
    ["numbers", input([1, 4])],
    ["texts", input([1], { datatype: "BYTES", elements: ["a"] })],
    ["nothing", input([0, 3, 8, 16])],
  ])("are not %s", (_, sent) => expect(sentPictures([sent], [])).toEqual([]));
});
