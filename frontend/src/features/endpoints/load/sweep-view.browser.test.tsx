import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { sweepsQuery } from "@/api/sweeps";
import type { Deployment } from "@/api/types";
import { show } from "@/testing/show";
import { SweepForm } from "./sweep-form";
import { SweepView } from "./sweep-view";

const read = (name: string) => new QueryClient().fetchQuery(endpointQuery(name));
const listed = () => new QueryClient().fetchQuery(sweepsQuery("resnet50-prod", "blue"));
const nothing = () => undefined;

test("a sweep has its curve, what it says, and its points, an earlier one beside it", async () => {
  const beside = vi.fn();
  await show(<SweepView id="sweep-2" others={await listed()} beside="sweep-1" onBeside={beside} />);
  await expect.element(page.getByText("The knee is at 8 at a time", { exact: false })).toBeVisible();
  await expect.element(page.getByText("p99 ≤ 60 ms, it answers 310", { exact: false })).toBeVisible();
  await expect.element(page.getByText("It ended early: p99 at 16 was 85 ms", { exact: false })).toBeVisible();
  await expect.element(page.getByText("Clients sent requests meanwhile", { exact: false })).toBeVisible();
  const curve = page.getByRole("img", { name: "p99 latency against answers a second, 5 points", exact: false });
  await expect.element(curve).toBeVisible();
  await expect.element(page.getByText("objective: p99 ≤ 60 ms")).toBeInTheDocument();
  await expect.element(page.getByText("8, knee")).toBeInTheDocument();
  const points = page.getByRole("table", { name: "Points", exact: true });
  await expect.element(points.getByRole("row", { name: /16/ })).toHaveTextContent("over the objective");
  await expect.element(page.getByRole("table", { name: "Points of the earlier sweep" })).toBeVisible();
  await page.getByText("p50", { exact: true }).first().click();
  await expect.element(page.getByRole("img", { name: "p50 latency", exact: false })).toBeVisible();
  await expect.element(page.getByText("objective: p99 ≤ 60 ms")).not.toBeInTheDocument();
});

test("the curve is read by keyboard", async () => {
  await show(<SweepView id="sweep-2" others={[]} beside={undefined} onBeside={nothing} />);
  const curve = page.getByRole("application", { name: "p99 latency against answers a second, read by arrow keys" });
  await expect.element(curve).toBeVisible();
  (curve.element() as HTMLElement).focus();
  await userEvent.keyboard("{End}");
  await expect.element(curve).toHaveTextContent(/16 at a time: 330 \/s, p50 47.0 ms, p95 75.2 ms, p99 85.0 ms; over the objective$/);
  await userEvent.keyboard("{ArrowLeft}");
  await expect.element(curve).toHaveTextContent(/8 at a time: 310 \/s, .*; knee$/);
  expect(curve.element().querySelectorAll("[data-read]")).toHaveLength(1);
});

test("the curve is as wide as its box, in texts of one size", async () => {
  await page.viewport(1000, 700);
  await show(<SweepView id="sweep-2" others={[]} beside={undefined} onBeside={nothing} />);
  const tick = page.getByText("100 ms", { exact: true });
  const curve = page.getByRole("img", { name: "p99 latency", exact: false });
  await expect.poll(() => curve.element().getBoundingClientRect().width).toBeGreaterThan(850);
  const height = tick.element().getBoundingClientRect().height;
  await page.viewport(390, 700);
  await expect.poll(() => curve.element().getBoundingClientRect().width).toBeLessThan(360);
  await expect.poll(() => tick.element().getBoundingClientRect().height).toBeCloseTo(height, 0);
  expect(document.documentElement.scrollWidth).toBe(390);
});

test("a deployment that serves is measured only by who says so, and can be stopped", async () => {
  const endpoint = await read("resnet50-prod");
  const begun = vi.fn();
  const deployment = endpoint.deployments.find((one) => one.name === "blue") as Deployment;
  await show(<SweepForm endpoint={endpoint} deployment={deployment} busy={false} onBegun={begun} />);
  const button = page.getByRole("button", { name: "Measure" });
  await expect.element(button).toBeDisabled();
  await page.getByRole("checkbox").click();
  await page.getByRole("textbox", { name: "Levels", exact: false }).fill("many");
  await expect.element(page.getByText("Expected 1, 2, 4 or 1..32 or 8:64:8")).toBeVisible();
  await expect.element(button).toBeDisabled();
  await page.getByRole("textbox", { name: "Levels", exact: false }).fill("1..8");
  await expect.element(page.getByText("4 points, about 24", { exact: false })).toBeVisible();
  await button.click();
  await vi.waitFor(() => expect(begun).toHaveBeenCalledOnce());
  const id = String((begun.mock.calls[0]?.[0] as { id: string } | undefined)?.id);
  await show(<SweepView id={id} others={[]} beside={undefined} onBeside={nothing} />);
  await expect.element(page.getByRole("status").filter({ hasText: "0 of 4 points measured" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect.element(page.getByText("Canceled", { exact: false })).toBeVisible();
});
