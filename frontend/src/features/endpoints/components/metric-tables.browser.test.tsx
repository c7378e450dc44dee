import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { endpointQuery } from "@/api/endpoints";
import type { Frame } from "@/live/frames";
import { Series } from "@/live/series";
import { show } from "@/testing/show";
import { MetricTables } from "./metric-tables";

const END = 1_793_534_400;
const KEYS = ["batch.1.all", "batch.8.all"];
const table = page.getByRole("table", { name: "Batches that ran" });

/** A minute of one size, by one point each two seconds, then a minute of the other by points of half a second. */
const joined = (first: number, second: number): Frame => {
  const t = [
    ...Array.from({ length: 30 }, (_, index) => END - 120 + (index + 1) * 2),
    ...Array.from({ length: 120 }, (_, index) => END - 60 + (index + 1) / 2),
  ];
  const share = (one: number) => t.map((_, index) => ((index < 30 ? first : second) === one ? 1 : 0));
  return { type: "snapshot", topic: "", keys: KEYS, t, v: [share(1), share(8)] };
};

test("a minute of the past counts like a minute of now, and what comes right after is not left out", async () => {
  const series = new Series();
  await show(<MetricTables endpoint={await new QueryClient().fetchQuery(endpointQuery("resnet50-prod"))} series={series} range={120} />);
  await expect.element(page.getByText("Nothing was executed in the time shown.")).toBeVisible();
  series.accept(joined(1, 8));
  await expect.element(table.getByRole("row", { name: /^1/ })).toHaveTextContent(/^150\s%11\s%/);
  await expect.element(table.getByRole("row", { name: /^8/ })).toHaveTextContent(/^850\s%89\s%/);
  // The same series, within two seconds: a stretch of the past comes once.
  series.accept(joined(8, 8));
  await expect.element(table.getByRole("row", { name: /^8/ })).toHaveTextContent(/^8100\s%/);
});
