import { expect, test } from "vitest";
import { page } from "vitest/browser";
import type { Endpoint } from "@/api/types";
import { startLanguage } from "@/i18n/language";

test("causes and what to change are told in German, sentences with figures as they came", async () => {
  await startLanguage("de");
  // Texts and signs of numbers are made while modules are loaded.
  const { show } = await import("@/testing/show");
  const { WhySlow } = await import("./why-slow");
  const endpoint = { name: "resnet50-prod", deployments: [{ name: "blue", model: "resnet50", version: 3 }] } as unknown as Endpoint;
  await show(<WhySlow endpoint={endpoint} />);
  await page.getByRole("button", { name: "Warum langsam?" }).click();
  const causes = page.getByRole("list", { name: "Wahrscheinlichste Ursachen" });
  await expect.element(causes.getByRole("heading").nth(0)).toHaveTextContent("Anfragen werden einzeln berechnet (73,4 ms)");
  await expect.element(causes).toHaveTextContent("Ergänzen Sie dynamic_batching in der Konfiguration dieses Modells.");
  await expect.element(causes).toHaveTextContent("resnet50 takes batches of 32");
});
