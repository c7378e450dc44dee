import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { CanvasView } from "./canvas-view";

const RED = [255, 0, 0, 255];
const BLUE = [0, 0, 255, 255];
/** Two rows of three pixels: red, but for the last. */
const PIXELS = new Uint8ClampedArray([RED, RED, RED, RED, RED, BLUE].flat());

const canvas = page.getByRole("img", { name: "mask" });

test("small pictures are enlarged by whole steps, their pixels stay what they are", async () => {
  await show(<CanvasView label="mask" width={3} height={2} pixels={PIXELS} />);
  await expect.element(canvas).toBeVisible();
  const box = canvas.element().getBoundingClientRect();
  expect(box.width % 3).toBe(0);
  expect(box.width).toBeGreaterThan(200);
  expect(box.height / box.width).toBeCloseTo(2 / 3, 2);
  const context = (canvas.element() as HTMLCanvasElement).getContext("2d");
  expect([...(context?.getImageData(2, 1, 1, 1).data ?? [])]).toEqual(BLUE);
  expect([...(context?.getImageData(1, 1, 1, 1).data ?? [])]).toEqual(RED);
});

test("the pointer reads the value under it, until it leaves", async () => {
  await show(<CanvasView label="mask" width={3} height={2} pixels={PIXELS} tell={(row, column) => `row ${row}, column ${column}`} />);
  await expect.element(page.getByText("Point at a value to read it.")).toBeVisible();
  const { width, height } = canvas.element().getBoundingClientRect();
  await userEvent.hover(canvas, { position: { x: width * 0.9, y: height * 0.9 } });
  await expect.element(page.getByText("row 1, column 2")).toBeVisible();
  await userEvent.hover(canvas, { position: { x: width / 2, y: height * 0.1 } });
  await expect.element(page.getByText("row 0, column 1")).toBeVisible();
  await userEvent.unhover(canvas);
  await expect.element(page.getByText("Point at a value to read it.")).toBeVisible();
});
