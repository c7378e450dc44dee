import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { PricesPage } from "./prices-page";

const save = page.getByRole("button", { name: "Save the prices" });

test("a price is added once all of it is there, and saved with the others", async () => {
  const first = await show(<PricesPage />);
  await expect.element(page.getByRole("group", { name: "Price of gpu-a10" })).toBeVisible();
  await page.getByRole("button", { name: "Add a price" }).click();
  await expect.element(save).toBeDisabled();
  const added = page.getByRole("group", { name: "Price of a new row" });
  await added.getByLabelText("Per hour").fill("2.5");
  await added.getByLabelText("Name").fill("cpu");
  await expect.element(save).toBeEnabled();
  await page.getByLabelText("Currency").fill("");
  await expect.element(page.getByText("Expected a text such as EUR")).toBeVisible();
  await expect.element(save).toBeDisabled();
  await page.getByLabelText("Currency").fill("USD");
  await save.click();
  await expect.element(page.getByText("The prices are saved")).toBeVisible();
  await first.unmount();
  await show(<PricesPage />);
  await expect.element(page.getByRole("group", { name: "Price of cpu" })).toBeVisible();
});

test("who does not administer sees prices and changes none", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<PricesPage />);
  await expect.element(page.getByRole("group", { name: "Price of gpu-a10" })).toBeVisible();
  await expect.element(save).not.toBeInTheDocument();
  await expect.element(page.getByLabelText("Currency")).toBeDisabled();
});
