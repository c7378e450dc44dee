import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { show } from "@/testing/show";
import { ExperimentView } from "./experiment-view";

const read = (name: string) => new QueryClient().fetchQuery(endpointQuery(name));
const nothing = () => undefined;

test("arms have their split, their failures and a verdict, with the figures behind it", async () => {
  const asked = vi.fn();
  const chosen = vi.fn();
  await show(<ExperimentView endpoint={await read("resnet50-prod")} range="1h" onRange={asked} onBaseline={chosen} />);
  const arms = page.getByRole("table", { name: "Arms" });
  await expect.element(arms.getByRole("row", { name: /blue/ })).toHaveTextContent("Baseline");
  const green = arms.getByRole("row", { name: /green/ });
  await expect.element(green).toHaveTextContent("Worse");
  await expect.element(green).toHaveTextContent("1,805");
  await expect.element(page.getByRole("status").filter({ hasText: "green is worse than blue" })).toBeVisible();
  await expect.element(page.getByText("3 of 3 golden cases as expected", { exact: false })).toBeVisible();
  await expect.element(page.getByText("1 of 240 inputs otherwise", { exact: false })).toBeVisible();
  await expect.element(page.getByText("though no lot was drawn", { exact: false })).toBeVisible();
  const errors = page.getByRole("table", { name: "green beside blue" }).getByRole("row", { name: /Server errors/ });
  await expect.element(errors).toHaveTextContent("41 of 1,805");
  await page.getByText("15 min").click();
  expect(asked).toHaveBeenCalledWith("15m");
  await page.getByRole("combobox", { name: "Baseline" }).click();
  await page.getByRole("option", { name: "green" }).click();
  expect(chosen).toHaveBeenCalledWith("green");
});

test("one arm alone says what is missing, and that there is nobody to compare it with", async () => {
  await show(<ExperimentView endpoint={await read("digits")} range="1h" onRange={nothing} onBaseline={nothing} />);
  await expect.element(page.getByRole("row", { name: /blue/ })).toHaveTextContent("200 requests missing");
  await expect.element(page.getByText("There is nobody to compare it with", { exact: false })).toBeVisible();
  await expect.element(page.getByRole("combobox", { name: "Baseline" })).not.toBeInTheDocument();
});
