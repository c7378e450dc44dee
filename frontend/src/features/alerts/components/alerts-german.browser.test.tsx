import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { startLanguage } from "@/i18n/language";

test("rules are told in German, with their commands and units as they are", async () => {
  await startLanguage("de");
  // Texts and signs of numbers are made while modules are loaded.
  const { show } = await import("@/testing/show");
  const { RulesList } = await import("./rules-list");
  await show(<RulesList chosen={undefined} />);
  await expect.element(page.getByRole("heading", { name: "Anfragen warten lange in der Warteschlange" })).toBeVisible();
  await expect.element(page.getByText("Mittlere Wartezeit in den Warteschlangen", { exact: false })).toBeVisible();
  await expect.element(page.getByText("Es kommt mehr an, als beantwortet wird", { exact: false })).toBeVisible();
  await expect.element(page.getByText("busy", { exact: true })).toBeVisible();
  await expect.element(page.getByRole("textbox", { name: "Schwelle, ms" })).toBeVisible();
});
