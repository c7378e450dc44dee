import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { WasteCard } from "./waste-card";

afterEach(() => localStorage.removeItem("mock.many"));

test("of much waste a page is drawn, and the next by a click", async () => {
  localStorage.setItem("mock.many", "5000");
  await show(<WasteCard />);
  const list = page.getByRole("list", { name: "Waste" });
  await expect.element(list).toBeVisible();
  expect(list.element().children).toHaveLength(20);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => list.element().children.length).toBe(40);
});
