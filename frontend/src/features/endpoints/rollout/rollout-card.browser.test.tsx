import { afterEach, beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { resumeRollout } from "@/api/rollouts";
import type { Rollout } from "@/api/types";
import { show } from "@/testing/show";
import { RolloutCard } from "./rollout-card";

const button = (name: string) => page.getByRole("button", { name, exact: true });
const steps = page.getByRole("list", { name: "Steps of the rollout of green" });
const reason = page.getByRole("status");

beforeEach(async () => {
  await resumeRollout({ endpoint: "resnet50-prod", id: "6b1d0c52a1" } as Rollout);
});
afterEach(() => localStorage.removeItem("mock.role"));

test("steps, both versions' figures with the confidence, and what it waits for", async () => {
  await show(<RolloutCard endpoint="resnet50-prod" />);
  await expect.element(page.getByRole("heading", { name: "Rollout of green" })).toBeVisible();
  await expect.element(steps.getByRole("listitem").nth(1)).toHaveAttribute("aria-current", "step");
  await expect.element(steps.getByRole("listitem").nth(0)).toHaveTextContent("5 %1,210 requests (done)");
  await expect.element(reason).toHaveTextContent("20 % for 140 s more.");
  const errors = page.getByRole("row", { name: /Server errors/ });
  await expect.element(errors).toHaveTextContent("0.49 % (9 of 1,840)");
  await expect.element(errors).toHaveTextContent("43.1 %");
  await expect.element(page.getByRole("row", { name: /Restarts/ })).toHaveTextContent("0 in 1 replica0 in 4 replicas–more than 1");
  await expect.element(page.getByText("p95 12.4 ms, stable 11.8 ms", { exact: false })).toBeVisible();
});

test("it is paused and resumed, and aborted once that is confirmed", async () => {
  await show(<RolloutCard endpoint="resnet50-prod" />);
  await button("Pause").click();
  await expect.element(reason).toHaveTextContent("maria has paused it");
  await button("Resume").click();
  await expect.element(button("Pause")).toBeVisible();
  await button("Abort").click();
  await expect.element(page.getByRole("dialog", { name: "Abort the rollout" })).toBeVisible();
  await button("Back to blue 100 %").click();
  await expect.element(reason).toHaveTextContent("maria aborted it: back to blue 100 %.");
  await expect.element(button("Promote")).not.toBeInTheDocument();
});

test("who may not move traffic sees it, and is told who may press its buttons", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<RolloutCard endpoint="resnet50-prod" />);
  for (const name of ["Pause", "Promote", "Abort", "Show 2 differences"]) {
    await expect.element(button(name)).toBeDisabled();
    await expect.element(button(name)).toHaveAttribute("title", "Needs the role deployer or a higher one");
  }
  await expect.element(reason).toHaveTextContent("20 % for 140 s more.");
});

test("what both were asked is counted, and deployers see what was answered otherwise", async () => {
  await show(<RolloutCard endpoint="resnet50-prod" />);
  const part = page.getByRole("region", { name: "Inputs that both versions were asked" });
  await expect.element(part).toHaveTextContent("24 saved cases, 0 answered otherwise; 120 requests of clients, 2 answered otherwise");
  await expect.element(part).toHaveTextContent("80 are missing");
  await button("Show 2 differences").click();
  const rows = page.getByRole("table", { name: "Inputs answered otherwise" }).getByRole("row");
  await expect.element(rows.nth(1)).toHaveTextContent("0.41, expected 0.97");
  const link = page.getByRole("link", { name: "5c0ffee0, line 17" });
  await expect
    .element(link)
    .toHaveAttribute("href", "/api/v1/endpoints/resnet50-prod/deployments/blue/captured/5c0ffee05c0ffee05c0ffee05c0ffee0");
  await expect.element(rows.nth(2)).toHaveTextContent("its file is gone");
});

test("an endpoint without a rollout shows none", async () => {
  const { container } = await show(<RolloutCard endpoint="digits" />);
  await expect.element(page.elementLocator(container).getByRole("main")).toBeEmptyDOMElement();
});
