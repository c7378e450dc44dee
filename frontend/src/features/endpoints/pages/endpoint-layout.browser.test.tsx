import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { paths } from "@/app/paths";
import { showStudio } from "@/testing/show";

const heading = (name: string) => page.getByRole("heading", { level: 1, name });

test("keys that are shown, and what is being written, stay with their endpoint", async () => {
  const router = await showStudio("/endpoints/digits/keys");
  const reveal = page.getByRole("button", { name: "Show the keys" });
  await expect.element(reveal).toBeVisible(); // read, so that nothing has to be waited for later
  await router.navigate(paths.endpointTab("resnet50-prod", "keys"));
  await expect.element(heading("resnet50-prod")).toBeVisible();
  await userEvent.click(reveal);
  await expect.element(page.getByRole("button", { name: "Hide" })).toBeVisible();
  await router.navigate(paths.endpointTab("digits", "keys"));
  await expect.element(heading("digits")).toBeVisible();
  await expect.element(reveal).toBeVisible();

  await router.navigate(paths.endpointTab("digits", "settings"));
  const words = page.getByRole("textbox", { name: "Description" });
  await userEvent.fill(words, "of digits alone");
  await router.navigate(paths.endpointTab("resnet50-prod", "settings"));
  await expect.element(heading("resnet50-prod")).toBeVisible();
  await expect.element(words).not.toHaveValue("of digits alone");
});
