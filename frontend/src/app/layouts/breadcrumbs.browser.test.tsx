import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { Breadcrumbs } from "./breadcrumbs";
import { INFRASTRUCTURE, MAIN } from "./nav";

test.each([...MAIN, ...INFRASTRUCTURE])("$label names itself in the bar", async ({ label, link }) => {
  await show(<Breadcrumbs />, link.to);
  await expect.element(page.getByRole("navigation", { name: "Breadcrumbs" }).getByText(label, { exact: true })).toBeVisible();
});
