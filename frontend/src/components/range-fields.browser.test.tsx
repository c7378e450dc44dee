import axe from "axe-core";
import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { following, parseRange } from "@/app/time-range";
import { show } from "@/testing/show";
import { RangeFields } from "./range-fields";

const from = page.getByRole("textbox", { name: /^From, in UTC/ });
const to = page.getByRole("textbox", { name: /^To, in UTC/ });
const submit = page.getByRole("button", { name: "Show" });

function View() {
  const [text, setText] = useState("15m");
  return (
    <>
      <RangeFields range={parseRange(text) ?? following("15m")} onChange={setText} />
      <button type="button" onClick={() => setText("1767600000..1767603600")}>
        Drag over a chart
      </button>
      <output>{text}</output>
    </>
  );
}

test("what is typed is shown, and stays in the fields with its seconds", async () => {
  await show(<View />);
  await expect.element(submit).toBeDisabled();
  await userEvent.fill(from, "2026-01-05T10:00:00Z");
  await userEvent.fill(to, "2026-01-05T11:00:00Z");
  await userEvent.keyboard("{Enter}");
  await expect.element(page.getByRole("status")).toHaveTextContent("1767607200..1767610800");
  await expect
    .element(from)
    .toHaveValue(new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" }).format(new Date("2026-01-05T10:00:00Z")));
});

test("who typed keeps the focus, and what is dragged over a chart replaces what was typed", async () => {
  await show(<View />);
  await userEvent.fill(from, "2026-01-05T10:00:00Z");
  await userEvent.fill(to, "2026-01-05T11:00:00Z");
  await userEvent.keyboard("{Enter}");
  await expect.element(page.getByRole("status")).toHaveTextContent("1767607200..1767610800");
  await expect.element(to).toHaveFocus();
  await userEvent.fill(to, "late");
  await submit.click();
  await expect.element(to).toHaveFocus();
  await page.getByRole("button", { name: "Drag over a chart" }).click();
  await expect.element(to).not.toHaveAttribute("aria-invalid", "true");
  await expect
    .element(to)
    .toHaveValue(new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" }).format(new Date(1_767_603_600_000)));
});

test("what is wrong is told at its field, in words that axe hears", async () => {
  const { container } = await show(<View />);
  await userEvent.fill(from, "noon");
  await submit.click();
  await expect.element(from).toHaveAccessibleDescription(/"noon" is no time/);
  await expect.element(from).toHaveAttribute("aria-invalid", "true");
  const { violations } = await axe.run(container.querySelector("form") as HTMLElement);
  expect(violations.map(({ id }) => id)).toEqual([]);
  await userEvent.fill(from, "2026-01-05 10:00");
  await userEvent.fill(to, "2026-01-05 09:00");
  await submit.click();
  await expect.element(to).toHaveAccessibleDescription("The end has to come after the beginning.");
  await expect.element(page.getByRole("status")).toHaveTextContent("15m");
});
