import { useQuery } from "@tanstack/react-query";
import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { setObjective } from "@/api/alerts";
import { endpointQuery } from "@/api/endpoints";
import { makeQueryClient } from "@/app/query-client";
import { show } from "@/testing/show";
import { ObjectivesCard } from "./objectives-card";

function Card({ endpoint }: { endpoint: string }) {
  const { data } = useQuery(endpointQuery(endpoint));
  return data ? <ObjectivesCard endpoint={data} /> : null;
}

/** Somebody else, whom the page that is open is told nothing of. */
async function otherSets(name: string, target: number): Promise<void> {
  const { etag } = await makeQueryClient().fetchQuery(endpointQuery("digits"));
  const body = { kind: "availability", target_percent: target, window_days: 28, threshold_ms: null } as const;
  await setObjective("digits", name, body, etag);
}

const button = (name: string) => page.getByRole("button", { name, exact: true });

afterEach(() => localStorage.removeItem("mock.role"));

test("promise, what is left, how fast it burns, and its past", async () => {
  await show(<Card endpoint="resnet50-prod" />);
  const row = page.getByRole("row", { name: /answered/ });
  await expect.element(row).toHaveTextContent("99.9 % without a 5xx, 28 days");
  await expect.element(row).toHaveTextContent("37.5 %");
  await expect.element(row).toHaveTextContent("18.2 over 1 h, 22.6 over 5 min");
  await expect.element(row).toHaveTextContent("Burning");
  await expect.element(page.getByRole("img", { name: /Budget of answered over 28 days; 37.5 % is left/ })).toBeVisible();
});

test("a budget's past is read by keyboard", async () => {
  await show(<Card endpoint="resnet50-prod" />);
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
  await show(<Card endpoint="digits" />);
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

test("what another has made of it meanwhile is told, and written over only by saying so", async () => {
  await show(<Card endpoint="digits" />);
  await button("Set an objective").click();
  const dialog = page.getByRole("dialog");
  await userEvent.fill(dialog.getByRole("textbox", { name: "Name" }), "uptime");
  await otherSets("uptime", 95);
  await userEvent.fill(dialog.getByRole("textbox", { name: "So many shall be good, %" }), "99");
  await dialog.getByRole("button", { name: "Set uptime" }).click();
  await expect.element(dialog.getByRole("alert")).toHaveTextContent(/Changed by omar.*Yours is not saved.*95 % without a 5xx, 28 days/);
  await expect.element(dialog.getByRole("textbox", { name: "So many shall be good, %" })).toHaveValue("99");
  await userEvent.fill(dialog.getByRole("textbox", { name: "So many shall be good, %" }), "98");
  await dialog.getByRole("button", { name: "Save mine over it" }).click();
  const row = page.getByRole("row", { name: /uptime/ });
  await expect.element(row).toHaveTextContent("98 % without a 5xx, 28 days");

  await button("Remove uptime").click();
  await otherSets("uptime", 97);
  await page.getByRole("dialog").getByRole("button", { name: "Remove uptime" }).click();
  await expect.element(page.getByRole("alert")).toHaveTextContent("97 % without a 5xx, 28 days");
  await button("Remove it all the same").click();
  await expect.element(row).not.toBeInTheDocument();
});

test("another objective that somebody sets meanwhile is in nobody's way, and a taken name is said before", async () => {
  await show(<Card endpoint="digits" />);
  await button("Set an objective").click();
  await otherSets("theirs", 95);
  await button("Set availability").click();
  await expect.element(page.getByRole("row", { name: /availability/ })).toBeVisible();
  await expect.element(page.getByRole("row", { name: /theirs/ })).toBeVisible();
  await button("Set an objective").click();
  await userEvent.fill(page.getByRole("textbox", { name: "Name" }), "theirs");
  await expect
    .element(page.getByRole("dialog").getByRole("status"))
    .toHaveTextContent("theirs is there already, with 95 % without a 5xx, 28 days; it is set anew.");
  await button("Cancel").click();
  for (const name of ["availability", "theirs"]) {
    await button(`Remove ${name}`).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: `Remove ${name}` })
      .click();
    await expect.element(page.getByRole("row", { name: new RegExp(name) })).not.toBeInTheDocument();
  }
});

test("who may not deploy reads them", async () => {
  localStorage.setItem("mock.role", "viewer");
  await show(<Card endpoint="resnet50-prod" />);
  await expect.element(button("Set an objective")).toBeDisabled();
  await expect.element(button("Remove answered")).toBeDisabled();
});
