import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import type { Box } from "./box";
import { OverlayPicture, type OverlayPictureProps } from "./overlay-picture";

const WIDTH = 40;
const HEIGHT = 20;
const BOX: Box = { x: 0.5, y: 0.5, width: 0.25, height: 0.4, score: 0.875, classId: 1 };
const filled = (colour: number[]) => new Uint8ClampedArray(Array.from({ length: WIDTH * HEIGHT }, () => colour).flat());
const PLAIN = { width: WIDTH, height: HEIGHT, pixels: filled([9, 9, 9, 255]) };
const MASK = { width: WIDTH / 2, height: HEIGHT / 2, pixels: filled([0, 255, 0, 255]).slice(0, WIDTH * HEIGHT) };

const picture = page.getByRole("img", { name: "fish" });
/** Left, top, width and height in shares of the picture; within its frame, and the line of a box, of a pixel each. */
function expectAt(element: Element, wanted: readonly number[]): void {
  const [inner, outer] = [element.getBoundingClientRect(), picture.element().getBoundingClientRect()];
  const found = [
    (inner.left - outer.left) / outer.width,
    (inner.top - outer.top) / outer.height,
    inner.width / outer.width,
    inner.height / outer.height,
  ];
  expect(
    found.map((share, at) => Math.abs(share - (wanted[at] ?? 0)) < 0.03),
    found.join(", "),
  ).toEqual([true, true, true, true]);
}

async function shown(part: Partial<OverlayPictureProps>): Promise<void> {
  await show(<OverlayPicture label="fish" picture={PLAIN} mask={null} opacity={0.5} boxes={[]} nameOf={(id) => `class ${id}`} {...part} />);
  await expect.element(picture).toBeVisible();
}

/** The frame of a box; that of its words is filled. */
const frames = () => [...picture.element().querySelectorAll('rect:not([stroke="none"])')];

test("a box lies where the model has seen it, with its words above", async () => {
  await shown({ boxes: [BOX] });
  const [frame] = frames();
  if (!frame) throw new Error("There is no box.");
  expectAt(frame, [0.5, 0.5, 0.25, 0.4]);
  const words = picture.getByText(/^class 1 8[78]/);
  await expect.element(words).toBeVisible();
  expect(words.element().getBoundingClientRect().bottom).toBeLessThanOrEqual(frame.getBoundingClientRect().top + 3);
});

test("the words of a box at the upper edge stand in it, not beyond the picture", async () => {
  await shown({ boxes: [{ ...BOX, y: 0 }] });
  const words = picture
    .getByText(/^class 1 8[78]/)
    .element()
    .getBoundingClientRect();
  expect(words.top).toBeGreaterThanOrEqual(picture.element().getBoundingClientRect().top - 1);
});

test("a mask of fewer pixels covers the whole picture, as thinly as is asked", async () => {
  await shown({ mask: MASK, opacity: 0.25 });
  const [under, over] = picture.element().querySelectorAll("canvas");
  if (!under || !over) throw new Error("There are no two layers.");
  for (const layer of [under, over]) expectAt(layer, [0, 0, 1, 1]);
  expect(getComputedStyle(over).opacity).toBe("0.25");
  expect([...(over.getContext("2d")?.getImageData(3, 3, 1, 1).data ?? [])]).toEqual([0, 255, 0, 255]);
});

test("a file is shown as it was sent, over the whole field", async () => {
  const file = async (colour: string) => {
    const canvas = new OffscreenCanvas(WIDTH, HEIGHT);
    const context = canvas.getContext("2d");
    if (!context) throw new Error("no canvas");
    context.fillStyle = colour;
    context.fillRect(0, 0, WIDTH, HEIGHT);
    return new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
  };
  await shown({ picture: { width: WIDTH, height: HEIGHT, file: await file("#ff0000") } });
  const image = () => picture.element().querySelector("img");
  await expect.poll(() => image()?.naturalWidth).toBe(WIDTH);
  expectAt(image() as Element, [0, 0, 1, 1]);
});

test("in a narrow window it shrinks and keeps its form", async () => {
  await page.viewport(240, 640);
  await shown({});
  const { width, height } = picture.element().getBoundingClientRect();
  expect(width).toBeLessThanOrEqual(240);
  expect(width / height).toBeCloseTo(WIDTH / HEIGHT, 1);
});
