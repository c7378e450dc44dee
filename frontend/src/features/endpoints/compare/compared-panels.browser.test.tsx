import axe from "axe-core";
import { QueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { endpointsQuery } from "@/api/endpoints";
import { following, parseRange } from "@/app/time-range";
import { ChartGroup } from "@/components/charts/chart-group";
import { show } from "@/testing/show";
import { madeOfAll, type Made } from "../gap-reason";
import { ComparedPanels } from "./compared-panels";

function View({ ids, shown, made }: { ids: string[]; shown: string[]; made: Made }) {
  const [range, setRange] = useState<string | undefined>("5m");
  const [charts] = useState(() => new ChartGroup(ids.join()));
  return (
    <ComparedPanels
      kind="deployment"
      ids={ids}
      shown={shown}
      range={parseRange(range) ?? following("1h")}
      charts={charts}
      devices={new Map()}
      made={made}
      onRange={setRange}
    />
  );
}

const NEVER: Made = new Map();
const region = (name: string) => page.getByRole("region", { name, exact: true });

async function read(title: string, key: string): Promise<string> {
  const stop = page.getByRole("application", { name: `${title}, read by arrow keys` });
  await expect.element(stop).toBeVisible();
  (stop.element() as HTMLElement).focus();
  await userEvent.keyboard(key);
  return stop.element().querySelector("[aria-live=polite]")?.textContent ?? "";
}

test("a gap tells its reason, also where requests are not drawn", async () => {
  await show(<View ids={["resnet50-prod/blue", "sentiment/blue"]} shown={["p95"]} made={NEVER} />);
  await expect.element(region("Latency p95")).toBeVisible();
  await expect.element(region("Requests")).not.toBeInTheDocument();
  await expect
    .poll(() => read("Latency p95", "{End}"))
    .toMatch(/resnet50-prod\/blue \d.*\sms, sentiment\/blue –; sentiment\/blue: no request came$/);
});

test("before a deployment was made there is nothing of it", async () => {
  const { items } = await new QueryClient().fetchQuery(endpointsQuery());
  const made = new Map([...madeOfAll(items), ["deployment/sentiment/blue", Date.now() / 1000 - 60]]);
  await show(<View ids={["sentiment/blue"]} shown={["p95"]} made={made} />);
  await expect.poll(() => read("Latency p95", "{Home}")).toMatch(/; before it was made$/);
  expect(await read("Latency p95", "{End}")).toMatch(/; no request came$/);
});

test("what is zero for all of them is one line, and axe has nothing to say", async () => {
  const { container } = await show(<View ids={["sentiment/blue"]} shown={["requests", "p95", "memory"]} made={NEVER} />);
  const line = page.getByRole("button", { name: "Requests: none in this range" });
  await expect.element(line).toHaveAttribute("aria-expanded", "false");
  await expect.element(region("Memory")).toBeVisible();
  const { violations } = await axe.run(container);
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  await line.click();
  await expect.element(region("Requests")).toBeVisible();
});
