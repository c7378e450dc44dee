import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { CellsInput } from "./cells-input";
import { type Batch, newDraft } from "./input-draft";

function Input({ datatype, shape, batch = { on: false, size: 1 } }: { datatype: string; shape: number[]; batch?: Batch }) {
  const [draft, setDraft] = useState(() => newDraft({ name: "x", datatype, shape }));
  return <CellsInput draft={draft} batch={batch} onChange={(part) => setDraft({ ...draft, ...part })} />;
}

const field = (name: string) => page.getByRole("textbox", { name, exact: true });

test("a field that is entered is typed over, and one that cannot be sent says why", async () => {
  await show(<Input datatype="UINT8" shape={[3]} />);
  await field("x, value 0").click();
  await userEvent.keyboard("7{Tab}300");
  await expect.element(field("x, value 0")).toHaveValue("7");
  await expect.element(field("x, value 1")).toHaveValue("300");
  await expect.element(field("x, value 1")).toHaveAttribute("aria-invalid", "true");
  await expect.element(field("x, value 1")).toHaveAttribute("title", "300 is outside UINT8 (0 to 255)");
  await expect.element(field("x, value 2")).toHaveAttribute("aria-invalid", "false");
});

test("a slider and its number are one value", async () => {
  await show(<Input datatype="FP32" shape={[2]} />);
  await page.getByRole("switch", { name: "Sliders from 0 to 1 for x" }).click();
  const slider = page.getByRole("slider", { name: "x, value 1, slider" });
  slider.element().focus();
  await userEvent.keyboard("{End}{ArrowLeft}");
  await expect.element(field("x, value 1")).toHaveValue("0.99");
  await userEvent.fill(field("x, value 1"), "0.25");
  await expect.element(slider).toHaveAttribute("aria-valuenow", "0.25");
  await expect.element(field("x, value 0")).toHaveValue("0");
  await userEvent.fill(field("x, value 1"), "5");
  await expect.element(slider).toHaveAttribute("aria-valuenow", "1");
  await expect.element(field("x, value 1")).toHaveValue("5");
});

test("each item of a batch has its row, and switches stand for truth values", async () => {
  await show(<Input datatype="BOOL" shape={[2]} batch={{ on: true, size: 2 }} />);
  const last = page.getByRole("checkbox", { name: "x, item 1, value 1" });
  await last.click();
  await expect.element(last).toBeChecked();
  await expect.element(page.getByRole("checkbox", { name: "x, item 0, value 1" })).not.toBeChecked();
  const top = (name: string) => page.getByRole("checkbox", { name }).element().getBoundingClientRect().top;
  expect(top("x, item 1, value 0")).toBeGreaterThan(top("x, item 0, value 0"));
  expect(top("x, item 0, value 1")).toBe(top("x, item 0, value 0"));
});

test("of a text, characters and bytes are counted", async () => {
  await show(<Input datatype="BYTES" shape={[1]} />);
  await userEvent.fill(field("x"), "Größe 🐟");
  await expect.element(page.getByText("7 characters, 12 bytes")).toBeVisible();
});

test("many values wrap within a narrow window", async () => {
  await page.viewport(360, 640);
  await show(<Input datatype="FP32" shape={[32]} />);
  await expect.element(field("x, value 31")).toBeInViewport({ ratio: 1 });
  expect(document.documentElement.scrollWidth).toBe(360);
});
