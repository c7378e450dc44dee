import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { ApiProblem } from "@/api/problem";
import { show } from "@/testing/show";
import { ConfirmModal } from "./confirm-modal";

function Asking({ onConfirm, name }: { onConfirm: () => Promise<unknown>; name?: string }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpened(true)}>
        Delete
      </button>
      <ConfirmModal
        opened={opened}
        onClose={() => setOpened(false)}
        title="Delete blue"
        confirmLabel="Delete blue"
        danger
        typeToConfirm={name}
        onConfirm={onConfirm}
      >
        <p>Its instance is stopped.</p>
      </ConfirmModal>
    </>
  );
}

const dialog = page.getByRole("dialog", { name: "Delete blue" });
const opener = page.getByRole("button", { name: "Delete", exact: true });
const confirm = dialog.getByRole("button", { name: "Delete blue" });

test("the name is typed at once, and must be typed whole before Enter does anything", async () => {
  const onConfirm = vi.fn(() => Promise.resolve());
  await show(<Asking onConfirm={onConfirm} name="blue" />);
  await opener.click();
  await expect.element(dialog.getByRole("textbox", { name: "Type blue to confirm" })).toHaveFocus();
  await userEvent.keyboard("blu{Enter}");
  await expect.element(confirm).toBeDisabled();
  expect(onConfirm).not.toHaveBeenCalled();
  await userEvent.keyboard("e{Enter}");
  await expect.element(dialog).not.toBeInTheDocument();
  expect(onConfirm).toHaveBeenCalledTimes(1);
  await expect.element(opener).toHaveFocus();
  await opener.click();
  await expect.element(dialog.getByRole("textbox")).toHaveValue("");
});

test("the keyboard stays in the dialog; Escape leaves it and gives the focus back", async () => {
  const onConfirm = vi.fn(() => Promise.resolve());
  await show(<Asking onConfirm={onConfirm} />);
  await opener.click();
  await expect.element(dialog).toBeVisible();
  const met = new Set<string | null>();
  for (let step = 0; step < 6; step += 1) {
    await userEvent.tab();
    expect(dialog.element().contains(document.activeElement)).toBe(true);
    met.add(document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? null);
  }
  expect([...met].toSorted()).toEqual(["Cancel", "Close", "Delete blue"]);
  await userEvent.keyboard("{Escape}");
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(opener).toHaveFocus();
  expect(onConfirm).not.toHaveBeenCalled();
});

test("what the server refuses is shown in the dialog, which stays; opened again, it is gone", async () => {
  const refused = new ApiProblem({ title: "Conflict", detail: "blue receives traffic.", code: "HasTraffic" }, 409);
  await show(<Asking onConfirm={() => Promise.reject(refused)} />);
  await opener.click();
  await confirm.click();
  await expect.element(dialog.getByRole("alert")).toHaveTextContent("blue receives traffic.");
  await expect.element(confirm).toBeEnabled();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
  await opener.click();
  await expect.element(dialog).toBeVisible();
  await expect.element(dialog.getByRole("alert")).not.toBeInTheDocument();
});
