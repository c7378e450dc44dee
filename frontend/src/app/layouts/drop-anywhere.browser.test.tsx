import { afterEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { type Dropped, onDropped, takeDropped } from "@/app/dropped-files";
import { show } from "@/testing/show";
import { DropAnywhere } from "./drop-anywhere";

const MODEL = new File(["graph"], "digits.onnx");
const PICTURE = new File(["pixels"], "cat.png", { type: "image/png" });

function carrying(...files: File[]): DataTransfer {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  return transfer;
}

/** As the browser tells it; true where the page takes what is over it. */
function send(type: "dragover" | "drop", dataTransfer: DataTransfer, target: Element = document.body): boolean {
  return !target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }));
}

afterEach(() => void takeDropped());

test("a model over any page is invited, and dropped there opens the wizard with its files", async () => {
  const shown = await show(<DropAnywhere />, "/nodes");
  expect(send("dragover", carrying(MODEL))).toBe(true);
  await expect.element(page.getByRole("status")).toHaveTextContent("Drop to deploy this model");
  await expect.element(page.getByRole("status")).toBeInViewport();
  const taken = vi.fn<(files: Dropped[] | null) => void>();
  const stop = onDropped(() => taken(takeDropped()));
  expect(send("drop", carrying(MODEL))).toBe(true);
  await expect.poll(() => taken.mock.calls.length).toBe(1);
  stop();
  expect(taken.mock.calls[0]?.[0]?.map(({ path }) => path)).toEqual(["digits.onnx"]);
  expect(shown.address()).toBe("/deploy/new");
  await expect.element(page.getByRole("status")).not.toBeInTheDocument();
});

test("who leaves without dropping is no longer invited", async () => {
  await show(<DropAnywhere />);
  send("dragover", carrying(MODEL));
  await expect.element(page.getByRole("status")).toBeVisible();
  await expect.element(page.getByRole("status")).not.toBeInTheDocument();
});

test("pictures, and what a field of the page takes itself, are left to it", async () => {
  const shown = await show(
    <>
      <DropAnywhere />
      <textarea aria-label="Own field" onDragOver={(event) => event.preventDefault()} onDrop={(event) => event.preventDefault()} />
    </>,
  );
  const field = page.getByRole("textbox", { name: "Own field" });
  await expect.element(field).toBeVisible();
  expect(send("dragover", carrying(PICTURE))).toBe(false);
  send("dragover", carrying(MODEL), field.element());
  send("drop", carrying(MODEL), field.element());
  await expect.element(page.getByRole("status")).not.toBeInTheDocument();
  expect(shown.address()).toBe("/");
  expect(takeDropped()).toBeNull();
});

test("a role that may not deploy is told which may, and the browser does not open the file instead", async () => {
  localStorage.setItem("mock.role", "viewer");
  const shown = await show(<DropAnywhere />);
  await expect
    .poll(() => {
      send("dragover", carrying(MODEL));
      return page.getByRole("status").query()?.textContent;
    })
    .toBe("Needs the role deployer or a higher one");
  expect(send("drop", carrying(MODEL))).toBe(true);
  await expect.element(page.getByRole("status")).not.toBeInTheDocument();
  expect(shown.address()).toBe("/");
});
