import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { ImageInput } from "./image-input";
import { type InputDraft, newDraft } from "./input-draft";

const SIDE = 32;

/** A picture whose left half is red and whose right half is blue. */
async function picture(name: string, width = 64, height = 64): Promise<File> {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.fillStyle = "#ff0000";
  context.fillRect(0, 0, width / 2, height);
  context.fillStyle = "#0000ff";
  context.fillRect(width / 2, 0, width / 2, height);
  return new File([await canvas.convertToBlob({ type: "image/png" })], name, { type: "image/png" });
}

function Input({ channels = 3, size = 1, side = SIDE }: { channels?: number; size?: number; side?: number }) {
  const [draft, setDraft] = useState<InputDraft>(() => newDraft({ name: "image", datatype: "FP32", shape: [channels, side, side] }));
  const of = (at: number) => draft.pictures[0]?.elements[at]?.toFixed(2) ?? "none";
  const plane = SIDE * SIDE;
  const corners = Array.from({ length: channels }, (_, channel) => `${of(channel * plane)} ${of((channel + 1) * plane - 1)}`);
  return (
    <>
      <ImageInput draft={draft} batch={{ on: true, size }} onChange={(part) => setDraft((old) => ({ ...old, ...part }))} />
      <output aria-label="Corners">{corners.join(", ")}</output>
    </>
  );
}

const file = page.getByLabelText("Picture for image");
const corners = page.getByRole("status", { name: "Corners" });
const preview = page.getByRole("img", { name: "What is sent" });

function pixel(x: number, y: number): number[] {
  const context = (preview.element() as HTMLCanvasElement).getContext("2d");
  return [...(context?.getImageData(x, y, 1, 1).data ?? [])].slice(0, 3);
}

async function choose(name: string, value: string): Promise<void> {
  await page.getByRole("combobox", { name }).click();
  await page.getByRole("option", { name: value }).click();
}

test("a chosen picture is drawn as it is sent, and its numbers are those of its pixels", async () => {
  await show(<Input />);
  await userEvent.upload(file, await picture("halves.png"));
  await choose("Values", "0 to 255");
  // Top left and bottom right of the red, the green and the blue plane.
  await expect.element(corners).toHaveTextContent("255.00 0.00, 0.00 0.00, 0.00 255.00");
  await expect.element(preview).toBeVisible();
  expect(pixel(0, 0)).toEqual([255, 0, 0]);
  expect(pixel(SIDE - 1, SIDE - 1)).toEqual([0, 0, 255]);
  await choose("Channels", "BGR");
  await expect.element(corners).toHaveTextContent("0.00 255.00, 0.00 0.00, 255.00 0.00");
});

test("a wide picture is cropped, or fitted with bars, as one says", async () => {
  await show(<Input />);
  await userEvent.upload(file, await picture("wide.png", 128, 32));
  await choose("Resize", "Fit with bars");
  await expect.poll(() => pixel(0, 0)).toEqual([0, 0, 0]);
  expect(pixel(1, SIDE / 2)).toEqual([255, 0, 0]);
  await choose("Resize", "Crop centre");
  await expect.poll(() => pixel(0, 0)).toEqual([255, 0, 0]);
});

test("inverted, one sees what is sent and not what was dropped", async () => {
  await show(<Input />);
  await userEvent.upload(file, await picture("halves.png"));
  await expect.poll(() => pixel(0, 0)).toEqual([255, 0, 0]);
  await page.getByRole("switch", { name: "Invert" }).click();
  await expect.poll(() => pixel(0, 0)).toEqual([0, 255, 255]);
});

test("dropped pictures become the items of the batch; what is no picture is named and changes nothing", async () => {
  await show(<Input size={2} />);
  const target = file.element().closest("label");
  const drop = (...files: File[]) => {
    const dataTransfer = new DataTransfer();
    for (const one of files) dataTransfer.items.add(one);
    target?.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
  };
  drop(await picture("first.png"), await picture("second.png"));
  await expect.element(page.getByText(/2 pictures, one per item of the batch/)).toBeVisible();
  drop(new File(["not a picture"], "broken.png", { type: "image/png" }));
  await expect.element(page.getByText("broken.png: not a picture that this browser can read.")).toBeVisible();
  expect(pixel(0, 0)).toEqual([255, 0, 0]);
});

test("own scaling is taken when all of it can be read", async () => {
  await show(<Input />);
  await userEvent.upload(file, await picture("halves.png"));
  await choose("Values", "Own mean and std");
  await userEvent.fill(page.getByRole("textbox", { name: "Divide by", exact: true }), "0");
  await expect.element(page.getByText("above 0")).toBeVisible();
  await userEvent.fill(page.getByRole("textbox", { name: "Divide by", exact: true }), "51");
  await userEvent.fill(page.getByRole("textbox", { name: "Then subtract" }), "1 2 3");
  await userEvent.fill(page.getByRole("textbox", { name: "Then divide by" }), "2");
  await expect.element(corners).toHaveTextContent("2.00 -0.50, -1.00 -1.00, -1.50 1.00");
});

test("a picture that is made smaller says so, above all where the model takes any size", async () => {
  await show(<Input side={-1} />);
  await userEvent.upload(file, await picture("large.png", 1_280, 960));
  await expect.element(page.getByText("640 × 480 pixels, made from 1280 × 960")).toBeVisible();
  await userEvent.upload(file, await picture("small.png", 64, 48));
  await expect.element(page.getByText("64 × 48 pixels, channels first")).toBeVisible();
  await userEvent.fill(page.getByRole("textbox", { name: "Width, pixels" }), "96");
  await expect.element(page.getByText("96 × 72 pixels, made from 64 × 48")).toBeVisible();
  await userEvent.fill(page.getByRole("textbox", { name: "Height, pixels" }), "32");
  await expect.element(page.getByText("96 × 32 pixels, made from 64 × 48")).toBeVisible();
});
