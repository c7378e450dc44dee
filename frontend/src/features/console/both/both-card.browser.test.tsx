import { useQuery } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import { show } from "@/testing/show";
import { Console } from "../pages/console";

const answerOf = (name: string) => page.getByRole("region", { name: `Answer of ${name}` });

function Asked() {
  const { data } = useQuery(endpointQuery("resnet50-prod"));
  return data ? (
    <Console endpoint={data} deployment="blue" onDeployment={() => undefined} preset={null} captured={null} onPreset={() => undefined} />
  ) : null;
}

test("one call goes to both deployments, and the answers stand side by side with what differs", async () => {
  await show(<Asked />);
  await page.getByRole("combobox", { name: "Model" }).click();
  await page.getByRole("option", { name: "species" }).click();
  await expect.element(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  await page.getByRole("combobox", { name: "and compare with" }).click();
  await page.getByRole("option", { name: "green" }).click();
  await userEvent.keyboard("{Escape}");
  await page.getByRole("button", { name: "Fill" }).click();
  await page.getByRole("menuitem", { name: "Zeros" }).click();
  await page.getByRole("button", { name: "Send to both" }).click();
  await expect.element(page.getByRole("heading", { name: "Side by side" })).toBeVisible();
  await expect.element(answerOf("blue")).toHaveTextContent("9.40 ms");
  await expect.element(answerOf("green")).toHaveTextContent("Differs 9,999 of 20,000 values differ, by 6.00 at most");
  await expect.element(answerOf("blue")).not.toHaveTextContent("Differs");
  await page.getByRole("button", { name: "Close the comparison" }).click();
  await expect.element(page.getByRole("heading", { name: "Side by side" })).not.toBeInTheDocument();
});
