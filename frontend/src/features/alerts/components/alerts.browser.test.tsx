import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { ChannelsList } from "./channels-list";
import { RulesList } from "./rules-list";
import { SilencesList } from "./silences-list";

const button = (name: string) => page.getByRole("button", { name, exact: true });
const item = (name: string) => page.getByRole("menuitem", { name, exact: true });

afterEach(() => localStorage.removeItem("mock.role"));

test("a channel is added, its secret shown once, tried, and its log read", async () => {
  await show(<ChannelsList />);
  await button("Add a channel").click();
  await page.getByRole("textbox", { name: "Name" }).fill("second");
  await page.getByRole("textbox", { name: "URL" }).fill("https://example.org/x");
  await button("Add it").click();
  await expect.element(page.getByText("is shown only now", { exact: false })).toBeVisible();
  await button("Done").click();
  await expect.element(page.getByRole("row", { name: /second/ })).toHaveTextContent("webhook, signed");
  await button("Actions for on-call").click();
  await item("What was sent").click();
  const sent = page.getByRole("table", { name: "Sent to on-call" });
  await expect.element(sent).toHaveTextContent("200 in 88 ms");
  await sent.getByRole("button", { name: "Send again" }).first().click();
  await expect.element(sent.getByRole("row").nth(2)).toBeVisible();
});

test("two quick clicks add one channel, and its secret stays", async () => {
  await show(<ChannelsList />);
  await button("Add a channel").click();
  await page.getByRole("textbox", { name: "Name" }).fill("twice");
  await expect.element(button("Add it")).toBeDisabled();
  await page.getByRole("textbox", { name: "URL" }).fill("https://example.org/x");
  await button("Add it").dblClick();
  await expect.element(page.getByText("is shown only now", { exact: false })).toBeVisible();
  await expect.element(page.getByText("The channel was not added")).not.toBeInTheDocument();
});

test("channels are not for everybody", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<ChannelsList />);
  await expect.element(page.getByText("The channels cannot be shown to you")).toBeVisible();
});

test("a rule says what to do, and who may not change it is told so", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<RulesList chosen="queue-slow" />);
  await expect.element(page.getByText("More comes in than is answered", { exact: false })).toBeVisible();
  await expect.element(page.getByRole("switch")).toBeDisabled();
});

test("a threshold is kept with Enter, and is as it was where the field is left empty", async () => {
  await show(<RulesList chosen={undefined} />);
  const threshold = page.getByRole("textbox", { name: "Threshold, ms" });
  await userEvent.fill(threshold, "700");
  await userEvent.keyboard("{Enter}");
  await expect.element(page.getByText("Requests wait long in the queue: changed")).toBeVisible();
  await expect.element(threshold).toHaveValue("700");
  await userEvent.clear(threshold);
  await userEvent.keyboard("{Tab}");
  await expect.element(threshold).not.toHaveValue("");
});

test("silences with their reason", async () => {
  await show(<SilencesList />);
  await expect.element(page.getByRole("row", { name: /Load test until noon/ })).toHaveTextContent("queue-slow, endpoint/resnet50-prod");
});
