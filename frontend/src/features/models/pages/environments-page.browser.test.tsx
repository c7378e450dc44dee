import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { EnvironmentView } from "./environment-page";
import { EnvironmentsPage } from "./environments-page";

test("environments are listed with packages and endpoints, filtered, and opened", async () => {
  const shown = await show(<EnvironmentsPage />, "/environments");
  const row = page.getByRole("row", { name: /sklearn-env/ });
  await expect.element(row.getByText("scikit-learn==1.9.*, pandas>=2, orjson")).toBeVisible();
  await expect.element(row.getByRole("link", { name: "sentiment" })).toHaveAttribute("href", "/endpoints/sentiment/overview");
  await expect.element(page.getByText("old-env")).not.toBeInTheDocument();
  await page.getByRole("textbox", { name: "Filter by name or package" }).fill("torch");
  await expect.element(row).not.toBeInTheDocument();
  await expect.element(page.getByRole("status").getByText("1 environment")).toBeVisible();
  await page.getByRole("link", { name: "torch-env" }).click();
  await expect.poll(shown.address).toBe("/environments/torch-env");
});

test("archived ones are there when they are asked for", async () => {
  await show(<EnvironmentsPage />, "/environments?archived=archived");
  await expect.element(page.getByRole("link", { name: "old-env" })).toBeVisible();
  await expect.element(page.getByText("torch-env")).not.toBeInTheDocument();
});

test("one shows its packages and who uses it, and is archived and brought back", async () => {
  const shown = await show(<EnvironmentView name="sklearn-env" version={undefined} />);
  await expect.element(page.getByRole("region", { name: "list of packages" })).toHaveTextContent("scikit-learn==1.9.*");
  await expect.element(page.getByText("3 packages, as nodes give them to pip")).toBeVisible();
  await expect.element(page.getByRole("link", { name: "digits" })).toBeVisible();
  await expect.element(page.getByText("azureml:sklearn-env:2")).toBeVisible();
  const actions = page.getByRole("button", { name: "More actions" });
  await actions.click();
  await page.getByRole("menuitem", { name: "Archive version 2" }).click();
  await actions.click();
  await page.getByRole("menuitem", { name: "Restore version 2" }).click();
  await actions.click();
  await expect.element(page.getByRole("menuitem", { name: "Archive version 2" })).toBeVisible();
  await page.getByRole("combobox", { name: "Version" }).click({ force: true });
  await page.getByRole("option", { name: "version 1, archived" }).click();
  await expect.poll(shown.address).toBe("/environments/sklearn-env?version=1");
});

test("who may not deploy archives nothing, and what is not there says so", async () => {
  localStorage.setItem("mock.role", "viewer");
  const shown = await show(<EnvironmentView name="sklearn-env" version={1} />);
  await page.getByRole("button", { name: "More actions" }).click();
  await expect.element(page.getByRole("menuitem", { name: "Restore version 1" })).toBeDisabled();
  await shown.unmount();
  await show(<EnvironmentView name="nothing" version={undefined} />);
  await expect.element(page.getByText("There is no environment nothing")).toBeVisible();
});
