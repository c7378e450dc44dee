import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { ProjectsPage } from "./projects-page";

const dialog = page.getByRole("dialog");

test("projects show what they use, are added and given members", async () => {
  await show(<ProjectsPage />);
  await expect.element(page.getByRole("progressbar", { name: "GPUs of vision" })).toHaveAttribute("aria-valuenow", "100");
  await expect.element(page.getByText("Computer vision")).toBeVisible();
  await page.getByRole("button", { name: "Add a project" }).click();
  await dialog.getByLabelText("Name").fill("speech");
  await dialog.getByLabelText("GPUs at most").fill("2");
  await dialog.getByRole("button", { name: "Add speech" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
  await page.getByRole("button", { name: "Actions for vision" }).click();
  await page.getByRole("menuitem", { name: "Members" }).click();
  await expect.element(dialog.getByText("lena")).toBeVisible();
  await expect.element(dialog.getByRole("combobox", { name: "Role of lena in vision" })).toHaveValue("Deployer");
  await dialog.getByLabelText("User or service account").fill("ci");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect.element(dialog.getByLabelText("User or service account")).toHaveValue("");
});

test("who does not administer sees them and changes none", async () => {
  localStorage.setItem("mock.role", "member");
  await show(<ProjectsPage />);
  await expect.element(page.getByText("Computer vision")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Actions for vision" })).not.toBeInTheDocument();
  await expect.element(page.getByRole("button", { name: "Add a project" })).toBeDisabled();
});
