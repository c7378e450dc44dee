import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { FileInput } from "./file-input";
import { newDraft } from "./input-draft";

function Input({ datatype }: { datatype: string }) {
  const [draft, setDraft] = useState(() => newDraft({ name: "x", datatype, shape: [-1] }));
  return (
    <>
      <FileInput draft={draft} onFile={(file) => setDraft({ ...draft, file })} />
      <output aria-label="Values">{draft.file?.elements.map(String).join(" ")}</output>
    </>
  );
}

const file = page.getByLabelText("File for x");
const values = page.getByRole("status", { name: "Values" });

function drop(...files: File[]): DragEvent {
  const dataTransfer = new DataTransfer();
  for (const one of files) dataTransfer.items.add(one);
  const event = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer });
  file.element().closest("label")?.dispatchEvent(event);
  return event;
}

test("a chosen file is named with what was read of it", async () => {
  await show(<Input datatype="FP32" />);
  await userEvent.upload(file, new File(["[[1, 2.5], [3, 4]]"], "values.json"));
  await expect.element(values).toHaveTextContent("1 2.5 3 4");
  await expect.element(page.getByText(/JSON.*Drop another/)).toBeVisible();
  await expect.element(page.getByText("values.json")).toBeVisible();
});

test("raw values are read as the tensor's type, from a drop that nobody else gets", async () => {
  await show(<Input datatype="INT16" />);
  const shell = vi.fn();
  window.addEventListener("drop", shell);
  const event = drop(new File([new Int16Array([-7, 300])], "values.bin"));
  window.removeEventListener("drop", shell);
  expect(event.defaultPrevented).toBe(true);
  expect(shell).not.toHaveBeenCalled();
  await expect.element(values).toHaveTextContent("-7 300");
});

test("what cannot be read is said, and the file of before stays", async () => {
  await show(<Input datatype="INT16" />);
  await userEvent.upload(file, new File([new Int16Array([5])], "good.bin"));
  await expect.element(values).toHaveTextContent("5");
  await userEvent.upload(file, new File([new Uint8Array(3)], "odd.bin"));
  await expect.element(page.getByRole("alert")).toHaveTextContent(/odd\.bin/);
  await expect.element(values).toHaveTextContent("5");
  await userEvent.upload(file, new File([new Int16Array([6])], "better.bin"));
  await expect.element(page.getByRole("alert")).not.toBeInTheDocument();
  await expect.element(values).toHaveTextContent("6");
});

test("several files are the items of a tensor of texts", async () => {
  await show(<Input datatype="BYTES" />);
  await userEvent.upload(file, [new File(["first"], "1.txt"), new File(["second"], "2.txt")]);
  await expect.element(page.getByText("2 files", { exact: true })).toBeVisible();
  await expect.element(values).toHaveTextContent("first second");
});
