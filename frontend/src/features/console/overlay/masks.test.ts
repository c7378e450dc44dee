import { describe, expect, it } from "vitest";
import { classColour, inkOn } from "./colours";
import { isLikelyMask, maskModes, maskShape, paintMask, type MaskShape } from "./masks";

const PICTURE = { width: 224, height: 112 };

describe("which outputs lie over a picture", () => {
  it.each<[string, number[], boolean, Partial<MaskShape> | null]>([
    ["a mask of the same size", [1, 112, 224], true, { height: 112, width: 224, channels: 1 }],
    ["a coarser one", [1, 1, 28, 56], true, { height: 28, width: 56, channels: 1 }],
    ["scores per class", [1, 21, 28, 56], true, { channels: 21, channelsFirst: true }],
    ["scores per class, channels last", [1, 28, 56, 21], true, { channels: 21, channelsFirst: false }],
    ["masks per thing", [5, 1, 28, 56], false, { channels: 5 }],
    ["without a batch axis", [28, 56], false, { channels: 1 }],
    ["other proportions", [1, 56, 56], true, null],
    ["scores of classes", [1, 1000], true, null],
    ["boxes", [1, 100, 4], true, null],
    ["more axes", [1, 2, 3, 28, 56], true, null],
  ])("%s", (_, shape, batched, expected) => {
    const found = maskShape(shape, batched, PICTURE);
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected);
  });

  const shape = (channels: number): MaskShape => ({ height: 1, width: 4, channels, channelsFirst: true });
  it.each<[string, string, number, boolean]>([
    ["mask", "FP32", 1, true],
    ["y", "INT64", 1, true],
    ["y", "FP32", 21, true],
    ["output", "FP32", 3, false],
    ["output", "FP32", 1, false],
  ])("%s of %s with %i values per pixel: unasked %s", (name, datatype, channels, likely) =>
    expect(isLikelyMask({ name, datatype }, shape(channels))).toBe(likely),
  );

  it.each<[string, number, number, string[]]>([
    ["FP32", 1, 1, ["heat-0"]],
    ["UINT8", 1, 1, ["labels", "heat-0"]],
    ["UINT8", 1, 255, ["labels", "heat-0"]],
    ["UINT8", 1, 200, ["heat-0", "labels"]],
    ["FP32", 2, 1, ["best", "heat-0", "heat-1"]],
  ])("%s with %i values up to %i: %j", (datatype, channels, max, modes) => {
    const stats = { min: 0, max, mean: 0, nan: 0, infinite: 0 };
    expect(maskModes({ datatype, stats }, shape(channels)).map(({ value }) => value)).toEqual(modes);
  });
});

describe("painted masks", () => {
  const opaque = (pixels: Uint8ClampedArray) => Array.from({ length: pixels.length / 4 }, (_, pixel) => pixels[pixel * 4 + 3]);

  it("give each class a colour and its share", () => {
    const painted = paintMask([0, 1, 1, 2], { height: 1, width: 4, channels: 1, channelsFirst: true }, "labels", true);
    expect(opaque(painted.pixels)).toEqual([0, 255, 255, 255]);
    expect(painted.found).toEqual([
      { id: 1, share: 0.5 },
      { id: 2, share: 0.25 },
    ]);
    expect(Array.from(painted.pixels.subarray(4, 7))).toEqual([...classColour(1)]);
  });

  it.each([
    [true, [5, 0, 0, 0, 1, 9]],
    [false, [5, 0, 0, 1, 0, 9]],
  ])("take the best class of each pixel (channels first: %s)", (channelsFirst, values) => {
    const painted = paintMask(values, { height: 1, width: 3, channels: 2, channelsFirst }, "best", false);
    expect(painted.found).toEqual([
      { id: 1, share: 2 / 3 },
      { id: 0, share: 1 / 3 },
    ]);
  });

  it("show one channel as heat", () => {
    const painted = paintMask([0, 0, 1, 3], { height: 1, width: 2, channels: 2, channelsFirst: true }, "heat-1", true);
    expect(Array.from(painted.pixels)).toEqual([68, 1, 84, 255, 253, 231, 37, 255]);
    expect(painted.found).toEqual([]);
  });
});

describe("colours", () => {
  it("differ between neighbours, and carry readable ink", () => {
    expect(new Set(Array.from({ length: 100 }, (_, id) => String(classColour(id)))).size).toBe(100);
    expect([inkOn([255, 255, 0]), inkOn([0, 0, 160])]).toEqual(["#000", "#fff"]);
  });
});
