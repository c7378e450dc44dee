import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { EndpointsPage } from "./endpoints-page";

const row = (name: string) => page.getByRole("row", { name: new RegExp(name) });

test("each endpoint shows what it does right now, and nothing where nobody asks", async () => {
  await show(<EndpointsPage />, "/endpoints");
  await expect.element(row("resnet50-prod").getByText("1,017")).toBeVisible();
  await expect.element(row("resnet50-prod").getByText("7.58")).toBeVisible();
  await expect.element(row("sentiment").getByText("3.1")).toBeVisible();
  await expect.element(page.getByRole("status").getByText("4 endpoints")).toBeVisible();
});

test("the server searches and chooses, and the address keeps what was asked", async () => {
  const shown = await show(<EndpointsPage />, "/endpoints");
  await page.getByRole("textbox", { name: "Filter endpoints" }).fill("senti");
  await expect.element(row("resnet50-prod")).not.toBeInTheDocument();
  await expect.element(page.getByRole("status").getByText("1 endpoint")).toBeVisible();
  await page.getByText("In trouble").click();
  await expect.element(row("sentiment")).toBeVisible();
  await page.getByText("Deploying").click();
  await expect.element(page.getByText("No endpoint matches the filter")).toBeVisible();
  await expect.poll(shown.address).toBe("/endpoints?q=senti&status=deploying");
});
