import { type LinkProps, useNavigate } from "@tanstack/react-router";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { Tabs } from "./tabs";

const NAMES = ["Overview", "Deployments", "Metrics", "Logs", "Test", "Consume", "Keys", "Events", "Settings"];
const link = (name: string): LinkProps => ({ to: "/models/$name", params: { name } });

function Page() {
  const navigate = useNavigate();
  return (
    <div style={{ height: 3000 }}>
      <Tabs label="Endpoint" tabs={NAMES.map((label) => ({ label, link: link(label), ...(label === "Keys" ? { count: 2 } : {}) }))} />
      <button type="button" onClick={() => void navigate(link("Events"))}>
        To the events
      </button>
    </div>
  );
}

/** How far the middle of a tab is from the middle of the row. */
function offMiddle(name: string): number {
  const row = page.getByRole("navigation", { name: "Endpoint" }).element().getBoundingClientRect();
  const tab = page.getByRole("link", { name }).element().getBoundingClientRect();
  return Math.abs(tab.left + tab.width / 2 - (row.left + row.width / 2));
}

test("on a phone the tab one is on stands in the middle of the row, and the page does not move", async () => {
  await page.viewport(360, 640);
  await show(<Page />, "/models/Test");
  await expect.element(page.getByRole("link", { name: "Test" })).toHaveAttribute("aria-current", "page");
  await expect.poll(() => offMiddle("Test")).toBeLessThan(2);
  await page.getByRole("button", { name: "To the events" }).click();
  await expect.element(page.getByRole("link", { name: "Events" })).toHaveAttribute("aria-current", "page");
  await expect.element(page.getByRole("link", { name: "Events" })).toBeInViewport({ ratio: 0.9 });
  expect(window.scrollY).toBe(0);
  expect(document.documentElement.scrollWidth).toBe(360);
});

test("the first tab stays where it is", async () => {
  await page.viewport(360, 640);
  await show(<Page />, "/models/Overview");
  await expect.element(page.getByRole("link", { name: "Overview" })).toHaveAttribute("aria-current", "page");
  expect(page.getByRole("navigation", { name: "Endpoint" }).element().scrollLeft).toBe(0);
});
