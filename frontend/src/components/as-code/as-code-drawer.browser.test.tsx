import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { AsCodeButton } from "./as-code-button";
import AsCodeDrawer from "./as-code-drawer";
import { hideAsCode } from "./as-code-store";
import type { Recipe } from "./recipe";

const DRAIN: Recipe = {
  title: "Drain gpu-a1",
  cli: [["shoal", "node", "drain", "gpu-a1", "--deadline", "600".repeat(60)]],
  api: [{ method: "POST", path: "/api/v1/nodes/gpu-a1/drain", body: { deadline_s: 600 } }],
};
const PLACE: Recipe = { title: "Place digits", cli: [["shoal", "apply"]], yaml: [{ name: "digits.yml", document: { name: "digits" } }] };

function Page() {
  return (
    <>
      <AsCodeButton wide recipe={() => DRAIN} />
      <AsCodeButton recipe={() => PLACE} />
      <AsCodeDrawer />
    </>
  );
}

const drawer = page.getByRole("dialog", { name: "Show as code" });
const drain = page.getByRole("button", { name: "Show as CLI / API" });
const place = page.getByRole("button", { name: "Show as CLI / YAML" });

afterEach(() => hideAsCode());

test("the form that was chosen last comes first, where the action has it", async () => {
  await show(<Page />);
  await drain.click();
  await expect.element(drawer.getByText("Drain gpu-a1", { exact: true })).toBeVisible();
  await expect.element(drawer.getByText(/shoal node drain gpu-a1/)).toBeVisible();
  await drawer.getByText("REST API").click();
  await expect.element(drawer.getByText(/"deadline_s"/)).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(drawer).not.toBeInTheDocument();
  await drain.click();
  await expect.element(drawer.getByRole("radio", { name: "REST API" })).toBeChecked();
  await userEvent.keyboard("{Escape}");
  await expect.element(drawer).not.toBeInTheDocument();
  await place.click();
  await expect.element(drawer.getByRole("radio", { name: "CLI" })).toBeChecked();
  await expect.element(drawer.getByRole("radio", { name: "YAML" })).not.toBeChecked();
});

test("forms are chosen by arrow keys, and Escape gives the focus back", async () => {
  await show(<Page />);
  await drain.click();
  await drawer.getByText("CLI", { exact: true }).click();
  await userEvent.keyboard("{ArrowRight}");
  await expect.element(drawer.getByRole("radio", { name: "REST API" })).toBeChecked();
  await expect.element(drawer.getByText(/"deadline_s"/)).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(drawer).not.toBeInTheDocument();
  await expect.element(drain).toHaveFocus();
});

test("a long command scrolls in its own box, by keys, in a window of a phone", async () => {
  await page.viewport(360, 640);
  await show(<Page />);
  await drain.click();
  const code = drawer.getByRole("region").first();
  await code.click();
  await userEvent.keyboard("{ArrowRight}");
  await expect.poll(() => code.element().scrollLeft).toBeGreaterThan(0);
  expect(document.documentElement.scrollWidth).toBe(360);
});

test("hovered, the sign says in words what it does", async () => {
  await show(<Page />);
  await place.hover();
  await expect.element(page.getByRole("tooltip", { name: "Show as CLI / YAML" })).toBeVisible();
});
