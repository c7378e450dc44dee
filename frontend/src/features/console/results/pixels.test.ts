import { describe, expect, it } from "vitest";
import { finiteRange, heatColour, heatPixels, picturePixels, pictureScale, pictureShape, pictureType } from "./pixels";

describe("heat-maps", () => {
  it("run from dark to bright, and leave gaps for what is no number", () => {
    const lightness = [0, 0.25, 0.5, 0.75, 1].map((share) => heatColour(share).reduce((a, b) => a + b));
    expect(lightness).toEqual([...lightness].sort((a, b) => a - b));
    const pixels = heatPixels([1, NaN, 3], { low: 1, high: 3 });
    expect(Array.from(pixels)).toEqual([68, 1, 84, 255, 0, 0, 0, 0, 253, 231, 37, 255]);
    expect(Array.from(heatPixels([2], { low: 2, high: 2 }))).toEqual([68, 1, 84, 255]);
  });

  it("measure finite values only", () => {
    expect(finiteRange([NaN, -1, Infinity, 4])).toEqual({ low: -1, high: 4 });
    expect(finiteRange([NaN])).toBeNull();
  });
});

describe("pictures", () => {
  it("are known by shape, and by type where the shape could be a table", () => {
    expect(pictureShape([2, 3, 16, 8], "FP32")).toMatchObject({ height: 16, width: 8, count: 2 });
    expect(pictureShape([16, 8, 1], "FP32")).toMatchObject({ layout: { channelsFirst: false, channels: 1 }, count: 1 });
    expect(pictureShape([32, 32], "UINT8")).toMatchObject({ layout: { channels: 1 }, count: 1 });
    expect(pictureShape([32, 32], "FP32")).toBeNull();
    expect(pictureShape([1, 1000], "UINT8")).toBeNull();
  });

  it("keep bytes, take 0 to 1, and stretch the rest", () => {
    expect(pictureScale("UINT8", { low: 3, high: 9 })).toMatchObject({ times: 1, plus: 0 });
    expect(pictureScale("FP32", { low: 0, high: 0.5 })).toMatchObject({ times: 255, plus: 0 });
    expect(pictureScale("FP32", { low: -1, high: 1 })).toMatchObject({ times: 127.5, plus: 127.5 });
    const shape = { layout: { channels: 3, channelsFirst: true }, height: 1, width: 2 } as const;
    expect(Array.from(picturePixels([1, 2, 3, 4, 5, 6], shape, { times: 1, plus: 0 }))).toEqual([1, 3, 5, 255, 2, 4, 6, 255]);
    const grey = { layout: { channels: 1, channelsFirst: false }, height: 1, width: 1 } as const;
    expect(Array.from(picturePixels([0.5], grey, { times: 255, plus: 0 }))).toEqual([128, 128, 128, 255]);
  });

  it("know encoded ones by their first bytes", () => {
    expect(pictureType(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 1]))).toBe("image/png");
    expect(pictureType(new Uint8Array([0xff, 0xd8, 0xff]))).toBe("image/jpeg");
    expect(pictureType(new TextEncoder().encode("hello"))).toBeNull();
  });
});
