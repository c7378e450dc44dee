import { useQuery } from "@tanstack/react-query";
import { afterEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { show } from "@/testing/show";
import { GoldenCard } from "./golden-card";

const row = (name: string) => page.getByRole("row", { name: new RegExp(name) });
const button = (name: string) => page.getByRole("button", { name, exact: true });

afterEach(() => localStorage.removeItem("mock.role"));

function Asked({ model }: { model: string }) {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  return data ? <GoldenCard endpoint={data} model={model} deployment="green" onOpen={() => undefined} /> : null;
}

test("cases are asked of a deployment, the difference is told, and the new answer is accepted", async () => {
  await show(<Asked model="species" />);
  await expect.element(page.getByText("2 cases of species with an expected answer")).toBeVisible();
  await expect.element(row("no bird")).toHaveTextContent("expects nothing");
  await button("Run").click();
  await expect.element(page.getByText("1 as expected, 1 wrong")).toBeVisible();
  await expect.element(row("an owl")).toHaveTextContent("Differslogits 3 of 4 values differ, most of all [0, 3]: 0.41, expected 1");
  await expect.element(row("a finch")).toHaveTextContent("As expected");
  await button("Actions for the case an owl").click();
  await page.getByRole("menuitem", { name: "Expect what green answers" }).click();
  await expect.element(row("an owl")).toHaveTextContent("not asked");
  await button("Run").click();
  await expect.element(page.getByText("2 as expected")).toBeVisible();
});

test("how much an answer may differ is changed; what is no number is not saved", async () => {
  await show(<Asked model="species" />);
  await button("Actions for the case a finch").click();
  await page.getByRole("menuitem", { name: "Tolerance" }).click();
  const dialog = page.getByRole("dialog", { name: "Tolerance of a finch" });
  await expect.element(dialog.getByLabelText("Relative")).toHaveValue("0.0001");
  await dialog.getByLabelText("Relative").fill("");
  await expect.element(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  await dialog.getByLabelText("Relative").fill("0.25");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect.element(dialog).not.toBeInTheDocument();
  await button("Actions for the case a finch").click();
  await page.getByRole("menuitem", { name: "Tolerance" }).click();
  await expect.element(dialog.getByLabelText("Relative")).toHaveValue("0.25");
});

test("who may not call sees them, and is told who may", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<Asked model="species" />);
  await expect.element(button("Run")).toBeDisabled();
  await expect.element(button("Run")).toHaveAttribute("title", "Needs the role invoker or a higher one");
});

test("a model without saved cases shows none", async () => {
  const { container } = await show(<Asked model="yolo" />);
  await expect.element(page.elementLocator(container).getByRole("main")).toBeEmptyDOMElement();
});
