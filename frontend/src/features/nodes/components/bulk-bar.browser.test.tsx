import { useQuery } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { nodesQuery } from "@/api/nodes";
import { show } from "@/testing/show";
import { BulkBar } from "./bulk-bar";

/** The nodes of the made-up installation, all ticked. */
function Loaded({ onClear = () => undefined }: { onClear?: () => void }) {
  const { data } = useQuery({ ...nodesQuery(), refetchInterval: false });
  return data ? <BulkBar chosen={data.items} onClear={onClear} /> : null;
}

const bar = page.getByRole("group", { name: "Ticked nodes" });
const button = (name: string) => bar.getByRole("button", { name, exact: true });

test("a button that has done its work goes off, and the keyboard stays in the bar", async () => {
  await show(<Loaded />);
  await expect.element(button("Uncordon")).toBeEnabled();
  button("Uncordon").element().focus();
  await userEvent.keyboard("{Enter}");
  await expect.element(button("Uncordon")).toBeDisabled();
  await expect.element(page.getByText("1 node changed")).toBeVisible();
  await expect.element(bar).toHaveFocus();
  await userEvent.tab();
  await expect.element(button("Cordon")).toHaveFocus();
});

test("Escape in its dialog closes the dialog and leaves the ticks; in the bar it takes them away", async () => {
  const onClear = vi.fn();
  await show(<Loaded onClear={onClear} />);
  await expect.element(bar.getByRole("status")).toHaveTextContent("2 nodes ticked");
  await button("Drain").click();
  const dialog = page.getByRole("dialog", { name: /^Drain / });
  await expect.element(dialog.getByRole("status")).toBeVisible();
  await userEvent.tab();
  expect(dialog.element().contains(document.activeElement)).toBe(true);
  await userEvent.keyboard("{Escape}");
  await expect.element(dialog).not.toBeInTheDocument();
  expect(onClear).not.toHaveBeenCalled();
  button("Untick all").element().focus();
  await userEvent.keyboard("{Escape}");
  expect(onClear).toHaveBeenCalledTimes(1);
});

test("a role that may not operate sees who may, and changes nothing", async () => {
  localStorage.setItem("mock.role", "deployer");
  await show(<Loaded />);
  await expect.element(button("Cordon")).toHaveAttribute("title", "Needs the role operator or a higher one");
  await expect.element(button("Cordon")).toBeDisabled();
  await expect.element(button("Drain")).toBeDisabled();
});
