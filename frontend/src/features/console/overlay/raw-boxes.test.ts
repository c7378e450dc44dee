import { describe, expect, it } from "vitest";
import { encodedSize } from "./encoded-size";
import { FLOOR, looksRaw, rawBoxes, rawLayout, type RawLayout } from "./raw-boxes";

const ANCHORS = 100;

describe("which shapes are guesses per anchor", () => {
  it.each<[string, number[], Partial<RawLayout> | null]>([
    ["YOLOv8 and later", [84, 8400], { numbers: 84, anchors: 8400, numbersFirst: true, objectness: false }],
    ["YOLOv5, YOLOv7", [25200, 85], { numbers: 85, anchors: 25200, numbersFirst: false, objectness: true }],
    ["one class", [5, 8400], { numbers: 5, objectness: false }],
    ["boxes that were chosen already", [300, 6], null],
    ["few of them", [84, 32], null],
    ["a picture", [3, 640, 640], null],
    ["class scores", [1, 1000], null],
    ["a square", [640, 640], null],
  ])("%s", (_, shape, layout) => (layout === null ? expect(rawLayout(shape)).toBeNull() : expect(rawLayout(shape)).toMatchObject(layout)));
});

/** `rows`: centre, size and what follows; the other anchors see nothing. */
function values(layout: RawLayout, rows: number[][]): Float64Array {
  const result = new Float64Array(layout.numbers * layout.anchors);
  rows.forEach((row, anchor) =>
    row.forEach((value, number) => {
      result[layout.numbersFirst ? number * layout.anchors + anchor : anchor * layout.numbers + number] = value;
    }),
  );
  return result;
}

const layoutOf = (shape: number[]): RawLayout => rawLayout(shape) ?? expect.fail("no layout");
const V8 = layoutOf([6, ANCHORS]);
const V5 = layoutOf([ANCHORS, 8]);
const seen = (layout: RawLayout, rows: number[][]) =>
  rawBoxes(values(layout, rows), layout, 200, 100).map(({ x, y, width, height, score, classId }) =>
    [x, y, width, height, score ?? -1, classId ?? -1].map((value) => Number(value.toFixed(4))),
  );

describe("what is seen", () => {
  it.each<[string, RawLayout, number[][], number[][]]>([
    ["nothing", V8, [], []],
    ["one thing, in shares of the picture", V8, [[100, 50, 40, 20, 0.1, 0.9]], [[0.4, 0.4, 0.2, 0.2, 0.9, 1]]],
    ["a score times how sure it is that there is something", V5, [[100, 50, 40, 20, 0.5, 0.2, 0.1, 0.8]], [[0.4, 0.4, 0.2, 0.2, 0.4, 2]]],
    [
      "the best of many guesses at one thing",
      V8,
      [
        [101, 50, 40, 20, 0.6, 0],
        [100, 50, 40, 20, 0.8, 0],
        [99, 50, 40, 20, 0.7, 0],
      ],
      [[0.4, 0.4, 0.2, 0.2, 0.8, 0]],
    ],
    [
      "two things of different classes in one place",
      V8,
      [
        [100, 50, 40, 20, 0.8, 0],
        [100, 50, 40, 20, 0, 0.7],
      ],
      [
        [0.4, 0.4, 0.2, 0.2, 0.8, 0],
        [0.4, 0.4, 0.2, 0.2, 0.7, 1],
      ],
    ],
    [
      "two things side by side",
      V8,
      [
        [20, 50, 40, 20, 0.6, 0],
        [60, 50, 40, 20, 0.8, 0],
      ],
      [
        [0.2, 0.4, 0.2, 0.2, 0.8, 0],
        [0, 0.4, 0.2, 0.2, 0.6, 0],
      ],
    ],
    ["not what is hardly likely", V8, [[100, 50, 40, 20, FLOOR / 2, 0]], []],
    ["not what has no place", V8, [[Number.NaN, 50, 40, 20, 0.9, 0]], []],
  ])("%s", (_, layout, rows, boxes) => expect(seen(layout, rows)).toEqual(boxes));
});

describe("whether values are of this kind", () => {
  it.each<[string, number[][], boolean]>([
    ["scores", [[100, 50, 40, 20, 0.1, 0.9]], true],
    ["logits", [[100, 50, 40, 20, -3, 0.9]], false],
    ["corners that reach left", [[100, 50, -40, 20, 0, 0.9]], false],
  ])("%s", (_, rows, yes) => expect(looksRaw(values(V8, rows), V8)).toBe(yes));
});

describe("the size in a file's head", () => {
  const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 2, 0x80, 0, 0, 1, 0xe0];
  const jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9, 0xff, 0xff, 0xc2, 0, 11, 8, 0x01, 0xe0, 0x02, 0x80, 3, 0, 0, 0];
  it.each<[string, number[], { width: number; height: number } | null]>([
    ["PNG", png, { width: 640, height: 480 }],
    ["JPEG, behind a table and a filled marker", jpeg, { width: 640, height: 480 }],
    ["half a PNG", png.slice(0, 20), null],
    ["a JPEG that ends before its frame", jpeg.slice(0, 12), null],
    ["a JPEG that is broken", [0xff, 0xd8, 0xff, 0xe0, 0, 2, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], null],
    ["a PNG of nothing", [...png.slice(0, 16), 0, 0, 0, 0, 0, 0, 0, 0], null],
    ["text", [...new TextEncoder().encode("a picture of a cat, in words only")], null],
  ])("of a %s", (_, bytes, size) => expect(encodedSize(Uint8Array.from(bytes))).toEqual(size));
});
