import { describe, expect, it } from "vitest";
import { defaultOptions, imageLayout, imageLayouts, pictureSize, pixelsToTensor, placeImage } from "./image-tensor";

// Two pixels side by side: orange and a half-transparent blue.
const RGBA = new Uint8ClampedArray([255, 128, 0, 255, 0, 0, 255, 128]);
const SIZE = { width: 2, height: 1 };
const CUSTOM = { divide: 255, mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25] } as const;
const PLAIN = { order: "rgb", scale: "raw", custom: CUSTOM, invert: false, width: null, height: null } as const;

describe("imageLayout", () => {
  it("finds the channels first or last", () => {
    expect(imageLayout([3, 224, 224])).toEqual({
      channelsFirst: true,
      channels: 3,
      height: 224,
      width: 224,
      leading: 0,
    });
    expect(imageLayout([28, 30, 1])).toEqual({ channelsFirst: false, channels: 1, height: 28, width: 30, leading: 0 });
    expect(imageLayout([3, -1, -1])).toMatchObject({ height: -1, width: -1 });
    expect(imageLayout([1, 3, 64, 64])).toMatchObject({ leading: 1, channels: 3 });
  });

  it("offers both orders where the shape allows both", () => {
    expect(imageLayouts([3, 224, 224]).map(({ channelsFirst }) => channelsFirst)).toEqual([true]);
    expect(imageLayouts([-1, -1, -1]).map(({ channelsFirst }) => channelsFirst)).toEqual([true, false]);
    expect(imageLayouts([-1, -1, 3])).toHaveLength(1);
  });

  it("leaves other shapes alone", () => {
    expect(imageLayout([10])).toBeNull();
    expect(imageLayout([2, 224, 224])).toBeNull();
    expect(imageLayout([3, 4, 4])).toBeNull();
    expect(imageLayout([8, 3, 64, 64])).toBeNull();
  });
});

describe("placeImage", () => {
  it("keeps, fills or ignores the ratio", () => {
    const source = { width: 200, height: 100 };
    const target = { width: 50, height: 50 };
    expect(placeImage(source, target, "fit")).toEqual({ x: 0, y: 12.5, width: 50, height: 25 });
    expect(placeImage(source, target, "crop")).toEqual({ x: -25, y: 0, width: 100, height: 50 });
    expect(placeImage(source, target, "stretch")).toEqual({ x: 0, y: 0, width: 50, height: 50 });
  });
});

describe("pictureSize", () => {
  const layout = (width: number, height: number) => ({ channelsFirst: true, channels: 3, width, height, leading: 0 }) as const;
  it.each([
    ["the model's", layout(224, 224), { width: 600, height: 300 }, [32, 32], [224, 224]],
    ["the picture's own", layout(-1, -1), { width: 600, height: 300 }, [null, null], [600, 300]],
    ["its own within a limit", layout(-1, -1), { width: 6000, height: 5000 }, [null, null], [640, 533]],
    ["what was asked for", layout(-1, -1), { width: 6000, height: 5000 }, [1024, 1024], [1024, 1024]],
    ["one side asked for leads", layout(-1, -1), { width: 600, height: 300 }, [320, null], [320, 160]],
    ["the other one, too", layout(-1, -1), { width: 600, height: 300 }, [null, 320], [640, 320]],
    ["a side of the model's leads", layout(-1, 48), { width: 600, height: 300 }, [null, null], [96, 48]],
    ["never nothing", layout(-1, 8), { width: 1, height: 300 }, [null, null], [1, 8]],
  ] as const)("%s", (_, of, picture, [width, height], expected) => {
    expect(Object.values(pictureSize(of, picture, { width, height }))).toEqual(expected);
  });
});

describe("pixelsToTensor", () => {
  it("lays out planes or pixels", () => {
    expect(Array.from(pixelsToTensor(RGBA, SIZE, { channels: 3, channelsFirst: true }, PLAIN))).toEqual([255, 0, 128, 0, 0, 255]);
    expect(Array.from(pixelsToTensor(RGBA, SIZE, { channels: 3, channelsFirst: false }, PLAIN))).toEqual([255, 128, 0, 0, 0, 255]);
    expect(Array.from(pixelsToTensor(RGBA, SIZE, { channels: 4, channelsFirst: false }, PLAIN))).toEqual([
      255, 128, 0, 255, 0, 0, 255, 128,
    ]);
  });

  it("swaps the colours, not their statistics", () => {
    const layout = { channels: 3, channelsFirst: false } as const;
    expect(Array.from(pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, order: "bgr" })).slice(0, 3)).toEqual([0, 128, 255]);
    const bgr = pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, order: "bgr", scale: "imagenet" });
    expect(bgr[2]).toBeCloseTo((1 - 0.485) / 0.229, 5);
    expect(bgr[0]).toBeCloseTo((0 - 0.406) / 0.225, 5);
  });

  it("scales and inverts", () => {
    const grey = { channels: 1, channelsFirst: true } as const;
    expect(pixelsToTensor(RGBA, SIZE, grey, PLAIN)[0]).toBeCloseTo(0.299 * 255 + 0.587 * 128, 3);
    expect(pixelsToTensor(RGBA, SIZE, grey, { ...PLAIN, invert: true })[0]).toBeCloseTo(255 - (0.299 * 255 + 0.587 * 128), 3);
    const layout = { channels: 3, channelsFirst: true } as const;
    expect(pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, scale: "unit" })[0]).toBe(1);
    expect(pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, scale: "signed" })[1]).toBe(-1);
    expect(pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, scale: "inception" })[2]).toBeCloseTo(0);
    expect(Array.from(pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, scale: "vgg" })).slice(0, 3)).toEqual([132, -123, 11]);
    expect(pixelsToTensor(RGBA, SIZE, layout, { ...PLAIN, scale: "custom" })[0]).toBeCloseTo((1 - 0.5) / 0.25);
  });

  it("starts with what fits the type", () => {
    const layout = imageLayout([3, 32, 32]);
    if (layout === null) throw new Error("3 × 32 × 32 is an image");
    expect(defaultOptions("UINT8", layout).scale).toBe("raw");
    expect(defaultOptions("FP32", layout).scale).toBe("imagenet");
    expect(defaultOptions("FP32", { ...layout, channels: 1 }).scale).toBe("unit");
  });
});
