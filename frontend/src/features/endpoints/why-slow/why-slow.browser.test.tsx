import { expect, test } from "vitest";
import { page } from "vitest/browser";
import type { Endpoint } from "@/api/types";
import { show } from "@/testing/show";
import { WhySlow } from "./why-slow";

const button = (name: string) => page.getByRole("button", { name, exact: true });
const summary = page.getByRole("status");
const causes = page.getByRole("list", { name: "Likeliest causes" });
const endpoint = (name: string) => ({ name, deployments: [{ name: "blue", model: "resnet50", version: 3 }] }) as unknown as Endpoint;

test("where the time goes, the likeliest cause first, and where it is changed", async () => {
  await show(<WhySlow endpoint={endpoint("resnet50-prod")} />);
  await button("Why is it slow?").click();
  await expect.element(page.getByRole("dialog", { name: "Why blue of resnet50-prod takes so long" })).toBeVisible();
  await expect.element(summary).toHaveTextContent("86 % of it since requests are computed one by one.");
  await expect.element(page.getByText(/^73.4.ms, 86.%$/)).toBeVisible();
  await expect.element(causes.getByRole("heading").nth(0)).toHaveTextContent("Requests are computed one by one (73.4 ms)");
  await expect.element(causes).toHaveTextContent("Add dynamic_batching to the configuration of this model.");
  const edit = page.getByRole("link", { name: "Edit the configuration" });
  await expect.element(edit).toHaveAttribute("href", "/models/resnet50/versions/3/config");
  await button("Close").click();
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
});

test("without traffic it says how much is missing, and draws nothing", async () => {
  await show(<WhySlow endpoint={endpoint("digits")} />);
  await button("Why is it slow?").click();
  await expect.element(summary).toHaveTextContent("at least 10 are needed to say why.");
  await expect.element(page.getByText("Ask while there is load", { exact: false })).toBeVisible();
  await expect.element(causes).not.toBeInTheDocument();
  await expect.element(page.getByText("Queue")).not.toBeInTheDocument();
});
