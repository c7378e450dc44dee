import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { ObjectivesCard } from "./objectives-card";

const button = (name: string) => page.getByRole("button", { name, exact: true });

afterEach(() => localStorage.removeItem("mock.role"));

test("promise, what is left, how fast it burns, and its past", async () => {
  await show(<ObjectivesCard endpoint="resnet50-prod" />);
  const row = page.getByRole("row", { name: /answered/ });
  await expect.element(row).toHaveTextContent("99.9 % without a 5xx, 28 days");
  await expect.element(row).toHaveTextContent("37.5 %");
  await expect.element(row).toHaveTextContent("18.2 over 1 h, 22.6 over 5 min");
  await expect.element(row).toHaveTextContent("Burning");
  await expect.element(page.getByRole("img", { name: /Budget of answered over 28 days; 37.5 % is left/ })).toBeVisible();
});

test("a budget's past is read by keyboard", async () => {
  await show(<ObjectivesCard endpoint="resnet50-prod" />);
  const past = page.getByRole("application", { name: "Budget of answered, read by arrow keys" });
  await expect.element(past).toBeVisible();
  (past.element() as HTMLElement).focus();
  await userEvent.keyboard("{ArrowLeft}");
  await expect.element(past).toHaveTextContent(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: 37.5 % left; 1 of 1,000 requests were bad$/);
  expect(past.element().querySelectorAll("line")).toHaveLength(2);
  await userEvent.keyboard("{Home}");
  await expect.element(past).toHaveTextContent("100.0 % left");
});

test("an objective of latency is set, and removed once that is confirmed", async () => {
  await show(<ObjectivesCard endpoint="digits" />);
  await button("Set an objective").click();
  await page.getByRole("combobox", { name: "Good is a request" }).click();
  await page.getByRole("option", { name: "that is answered in time" }).click();
  await button("Set latency").click();
  const row = page.getByRole("row", { name: /latency/ });
  await expect.element(row).toHaveTextContent("99.9 % within 250 ms, 28 days");
  await button("Remove latency").click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove latency" }).click();
  await expect.element(row).not.toBeInTheDocument();
});

test("who may not deploy reads them", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<ObjectivesCard endpoint="resnet50-prod" />);
  await expect.element(button("Set an objective")).toBeDisabled();
  await expect.element(button("Remove answered")).toBeDisabled();
});
