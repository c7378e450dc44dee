import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import type { Deployment } from "@/api/types";
import { answerBy } from "@/testing/answers";
import { show } from "@/testing/show";
import { FeaturesCard } from "./features-card";

const BLUE = { name: "blue" } as Deployment;
const card = (endpoint: string) => show(<FeaturesCard endpoint={endpoint} deployment={BLUE} hours={24} />);
const button = (name: string) => page.getByRole("button", { name, exact: true });

afterEach(() => localStorage.removeItem("mock.role"));

test("what has moved comes first, with its figures and its histogram", async () => {
  await card("resnet50-prod");
  const rows = page.getByRole("row");
  await expect.element(rows.nth(1)).toHaveTextContent("input age");
  await expect.element(rows.nth(1)).toHaveTextContent("Drift");
  await expect.element(rows.nth(1)).toHaveTextContent("0.684");
  await expect.element(rows.nth(2)).toHaveTextContent("output score");
  await expect.element(rows.nth(4)).toHaveTextContent("Too little data");
  await expect.element(page.getByRole("img", { name: /Histogram of age: most are 2 to 3, 22.* now/ })).toBeVisible();
});

test("a baseline is removed and set once that is confirmed", async () => {
  await card("resnet50-prod");
  await button("Baseline").click();
  await page.getByRole("menuitem", { name: "Remove the baseline" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove the baseline" }).click();
  await expect.element(page.getByRole("row", { name: /income/ })).toHaveTextContent("No baseline");
  await button("Baseline").click();
  await page.getByRole("menuitem", { name: "Compare with the last 24 hours" }).click();
  const hours = page.getByRole("textbox", { name: "Hours that are compared" });
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Compare with the last 24 hours" });
  await hours.fill("200");
  await expect.element(page.getByText("Expected a whole number from 1 to 168")).toBeVisible();
  await expect.element(confirm).toBeDisabled();
  await hours.fill("24");
  await confirm.click();
  await expect.element(page.getByRole("row", { name: /income/ })).toHaveTextContent("Stable");
});

test("the window of drift is changed, and the page and the alert are told apart", async () => {
  await card("resnet50-prod");
  await expect.element(page.getByText(/the last 24 hours against the baseline of/)).toBeVisible();
  await button("Baseline").click();
  await page.getByRole("menuitem", { name: "Change the window…" }).click();
  await page.getByRole("textbox", { name: "Hours that are compared" }).fill("6");
  await page.getByRole("dialog").getByRole("button", { name: "Change the window" }).click();
  await expect.element(page.getByText("The alert of drift looks at the last 6 hours.")).toBeVisible();
});

test("what others have made of the baseline meanwhile is not written over", async () => {
  const tags: (string | null)[] = [];
  answerBy((request) => {
    if (request.method !== "PATCH") return undefined;
    tags.push(request.headers.get("If-Match"));
    return Response.json({ title: "Changed", detail: "It was changed since you read it.", code: "PreconditionFailed" }, { status: 412 });
  });
  await card("resnet50-prod");
  await button("Baseline").click();
  await page.getByRole("menuitem", { name: "Change the window…" }).click();
  const dialog = page.getByRole("dialog");
  await page.getByRole("textbox", { name: "Hours that are compared" }).fill("7");
  await dialog.getByRole("button", { name: "Change the window" }).click();
  await expect.element(dialog.getByText("It was changed since you read it.")).toBeVisible();
  expect(tags).toEqual([expect.stringMatching(/^W\/"/)]);
});

test("a deployment that captures nothing says how it would", async () => {
  await card("digits");
  await expect.element(page.getByText("This deployment captures nothing")).toBeVisible();
});
