import { QueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import type { Deployment, Endpoint } from "@/api/types";
import { show } from "@/testing/show";
import { Tunings } from "./tunings";

/** As the tab does, without an address. */
function Lab({ endpoint }: { endpoint: Endpoint }) {
  const [asked, look] = useState<string>();
  const deployment = endpoint.deployments.find((one) => one.name === "blue") as Deployment;
  return <Tunings endpoint={endpoint} deployment={deployment} asked={asked} onLook={look} />;
}

test("a search is begun, followed to its frontier, saved and rolled out", async () => {
  await show(<Lab endpoint={await new QueryClient().fetchQuery(endpointQuery("resnet50-prod"))} />);
  const begin = page.getByRole("button", { name: "Tune", exact: true });
  await page.getByRole("textbox", { name: "Queue delays" }).fill("soon");
  await expect.element(page.getByText("Expected whole numbers from 0 to 1000000", { exact: false })).toBeVisible();
  await expect.element(begin).toBeDisabled();
  await page.getByRole("textbox", { name: "Queue delays" }).fill("");
  await begin.click();
  await expect.element(page.getByText("2 replicas answer clients", { exact: false })).toBeVisible();
  await page.getByRole("checkbox", { name: "Tune all the same", exact: false }).click();
  await begin.click();

  await expect.element(page.getByText("configurations measured. Measuring", { exact: false })).toBeVisible();
  await expect.element(page.getByText("Why:", { exact: false })).toBeVisible();
  await expect.element(begin).toBeDisabled();
  await expect.element(page.getByRole("button", { name: "Cancel" })).toBeVisible();

  const best = page.getByText("Best: 4 instances, batch 16, delay 500 µs. Answers: +93 %", { exact: false });
  await expect.element(best, { timeout: 10_000 }).toBeVisible();
  await expect
    .element(page.getByRole("img", { name: "p99 latency against answers a second, 6 configurations", exact: false }))
    .toBeVisible();
  const table = page.getByRole("table", { name: "Configurations that were measured" });
  await expect.element(table.getByRole("row", { name: /chosen/ })).toHaveTextContent("holds");
  await expect.element(table.getByRole("row", { name: /does not fit/ })).toBeVisible();

  const frontier = page.getByRole("application", { name: "p99 latency against answers a second, read by arrow keys" });
  (frontier.element() as HTMLElement).focus();
  await userEvent.keyboard("{End}{ArrowLeft}");
  await expect.element(frontier).toHaveTextContent(/4 instances, batch 16, delay 500 µs: .*, memory .*; chosen; on the frontier; picked$/);
  await userEvent.keyboard("{Home}");
  await expect.element(frontier).not.toHaveTextContent("picked");
  await userEvent.keyboard("{Enter}");
  await expect.element(frontier).toHaveTextContent(/; picked$/);

  const apply = page.getByRole("button", { name: "Apply" });
  await table.getByRole("row", { name: /today/ }).click();
  await expect.element(apply).toBeDisabled();
  await table.getByRole("row", { name: /chosen/ }).click();
  await apply.click();
  await expect
    .element(page.getByText("Saved as configuration revision 4. Nothing that serves has changed", { exact: false }))
    .toBeVisible();
  await page.getByRole("button", { name: "Roll out" }).click();
  await page.getByRole("button", { name: "Run configuration 4" }).click();
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
});
