import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { AnswersCard } from "./answers-card";

const card = <AnswersCard endpoint="resnet50-prod" baseline="blue" names={["blue", "green"]} />;
const compare = () => page.getByRole("button", { name: "Compare answers" }).click();

test("arms are asked when somebody wants it, and what they answer is told by output", async () => {
  await show(card);
  await expect.element(page.getByText("counts for no arm", { exact: false })).toBeVisible();
  await expect.element(page.getByRole("table")).not.toBeInTheDocument();
  await compare();
  await expect
    .element(page.getByRole("status"))
    .toHaveTextContent("2 golden cases, 50 captured requests of blue, 50 captured requests of green were asked of all arms in 3.40 s.");
  const agreement = page.getByRole("table", { name: "Agreement by output" });
  await expect.element(agreement.getByRole("row", { name: /blue/ })).toHaveTextContent("with itself, asked again");
  const green = agreement.getByRole("row", { name: /green/ });
  await expect.element(green).toHaveTextContent("(95 of 101)");
  await expect.element(green).toHaveTextContent("(97 of 100)");
  await expect.element(green).toHaveTextContent("1 differ has shape [1, 3], expected [1, 4]");
  await expect.element(green).toHaveTextContent("0.61");
  await expect.element(page.getByText("1 of 2 golden cases not as expected; 1 refused", { exact: false })).toBeVisible();
  await expect.element(page.getByText("3 requests that green captured cannot be asked again", { exact: false })).toBeVisible();
});

test("inputs that differ most have both answers side by side, and where they are", async () => {
  await show(card);
  await compare();
  const differing = page.getByRole("region", { name: "Inputs that differ most" });
  await expect.element(differing.getByText("no such class (400)", { exact: false })).toBeVisible();
  await expect
    .element(differing.getByRole("link", { name: "01234567, line 7" }))
    .toHaveAttribute("href", expect.stringContaining("/deployments/green/captured/0123456789abcdef"));
  const both = differing.getByRole("table", { name: "logits of both" });
  await expect.element(both.getByRole("row", { name: /^blue/ })).toHaveTextContent("blue0001");
  await expect.element(both.getByRole("row", { name: /^green/ })).toHaveTextContent("green000.610.39");
});

test("with nothing to ask it says what to switch on", async () => {
  await show(card);
  await page.getByRole("combobox", { name: "Captured requests of each arm" }).click();
  await page.getByRole("option", { name: "golden cases alone" }).click();
  await compare();
  await expect.element(page.getByText("There is nothing to ask")).toBeVisible();
  await expect.element(page.getByText("green captures no inputs", { exact: false })).toBeVisible();
  await expect.element(page.getByRole("link", { name: "Save golden cases" })).toHaveAttribute("href", "/test?endpoint=resnet50-prod");
  await expect.element(page.getByRole("link", { name: "What is captured" })).toBeVisible();
});
