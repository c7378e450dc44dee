import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { WhenFilter, WhoFilter } from "./when-filter";

function When({ start }: { start?: string }) {
  const [value, setValue] = useState(start);
  return (
    <>
      <WhenFilter value={value} onChange={setValue} />
      <output aria-label="Address">{value ?? "any"}</output>
    </>
  );
}

const when = page.getByRole("combobox", { name: "When" });
const address = page.getByRole("status", { name: "Address" });
const from = page.getByLabelText("From day");
const to = page.getByLabelText("To day");

test("the days open before there is one in them, and close with another choice", async () => {
  await show(<When />);
  await when.click();
  await page.getByRole("option", { name: "Between days" }).click();
  await expect.element(from).toBeVisible();
  await expect.element(address).toHaveTextContent("any");
  await userEvent.fill(from, "2026-11-01");
  await userEvent.fill(to, "2026-11-05");
  await expect.element(address).toHaveTextContent("2026-11-01..2026-11-05");
  await expect.element(from).toHaveAttribute("max", "2026-11-05");
  await expect.element(to).toHaveAttribute("min", "2026-11-01");
  await when.click();
  await page.getByRole("option").first().click();
  await expect.element(from).not.toBeInTheDocument();
  await expect.element(address).not.toHaveTextContent("..");
});

test("an address with days opens them; both emptied are any time", async () => {
  await show(<When start="2026-11-01..2026-11-05" />);
  await expect.element(to).toHaveValue("2026-11-05");
  await userEvent.fill(to, "");
  await expect.element(address).toHaveTextContent("2026-11-01..");
  await userEvent.fill(from, "");
  await expect.element(address).toHaveTextContent("any");
});

test("the list is walked by keys, and lies within a narrow window", async () => {
  await page.viewport(360, 640);
  await show(<When />);
  await userEvent.tab();
  await expect.element(when).toHaveFocus();
  await userEvent.keyboard("{ArrowDown}");
  await expect.element(page.getByRole("listbox")).toBeInViewport({ ratio: 1 });
  await userEvent.keyboard("{ArrowDown}{Enter}");
  await expect.element(page.getByRole("listbox")).not.toBeInTheDocument();
  await expect.element(address).not.toHaveTextContent("any");
});

function Who() {
  const [value, setValue] = useState<string>();
  // What is asked for leaves only their rows in view.
  return <WhoFilter value={value} names={value ? [value] : ["maria", "ci", "jonas"]} onChange={setValue} />;
}

test("who was seen once stays on offer", async () => {
  await show(<Who />);
  const who = page.getByRole("combobox", { name: "Who" });
  await who.click();
  await userEvent.keyboard("jon{ArrowDown}{Enter}");
  await expect.element(who).toHaveValue("jonas");
  await userEvent.clear(who);
  await who.click();
  await expect.element(page.getByRole("option", { name: "maria" })).toBeVisible();
});
