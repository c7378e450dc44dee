import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery, setRouting } from "@/api/endpoints";
import type { Endpoint } from "@/api/types";
import { show } from "@/testing/show";
import { RoutingCard } from "./routing-card";

const button = (name: string) => page.getByRole("button", { name, exact: true });
const rule = (place: number) => page.getByRole("listitem", { name: `Rule ${place}` });

const shown = (): Promise<Endpoint> => new QueryClient().fetchQuery(endpointQuery("resnet50-prod"));

beforeEach(async () => {
  await setRouting("resnet50-prod", { traffic_rules: [], sticky: null }, (await shown()).etag);
});
afterEach(() => localStorage.removeItem("mock.role"));

test("a rule and a cookie are written and saved", async () => {
  await show(<RoutingCard endpoint={await shown()} />);
  await expect.element(page.getByText("No rules: the shares alone decide", { exact: false })).toBeVisible();
  await expect.element(button("Save the rules")).toBeDisabled();
  await button("Add a rule").click();
  await rule(1).getByRole("textbox", { name: "Header" }).fill("x-group");
  await rule(1).getByRole("textbox", { name: "Value" }).fill("testers");
  await page.getByRole("combobox", { name: "Clients are told apart by" }).click();
  await page.getByRole("option", { name: "A cookie" }).click();
  await page.getByRole("textbox", { name: "Name of the cookie" }).fill("arm");
  await button("Save the rules").click();
  await expect.element(page.getByText("The rules are saved", { exact: false })).toBeVisible();
  expect((await shown()).traffic_rules).toEqual([{ header: "x-group", exact: "testers", deployment: "blue" }]);
  expect((await shown()).sticky).toEqual({ cookie: "arm" });
});

test("rules change places and go, each by its own name", async () => {
  const rules = [
    { header: "x-a", exact: "1", deployment: "blue" },
    { header: "x-b", present: true, deployment: "green" },
  ];
  await show(<RoutingCard endpoint={{ ...(await shown()), traffic_rules: rules }} />);
  await expect.element(button("Rule 1: ask earlier")).toBeDisabled();
  await button("Rule 2: ask earlier").click();
  await expect.element(rule(1).getByRole("textbox", { name: "Header" })).toHaveValue("x-b");
  await expect.element(rule(1).getByRole("textbox", { name: "Value" })).toBeDisabled();
  await button("Remove rule 2").click();
  await expect.element(rule(2)).not.toBeInTheDocument();
  await expect.element(rule(1).getByRole("textbox", { name: "Header" })).toHaveValue("x-b");
});

test("who may not move traffic sees the rules, and is told who may change them", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<RoutingCard endpoint={{ ...(await shown()), traffic_rules: [{ header: "x-a", exact: "1", deployment: "blue" }] }} />);
  await expect.element(rule(1).getByRole("textbox", { name: "Header" })).toBeDisabled();
  await expect.element(button("Save the rules")).toHaveAttribute("title", "Needs the role deployer or a higher one");
});
