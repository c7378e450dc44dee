import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { ChartGroup } from "@/components/charts/chart-group";
import { Series } from "@/live/series";
import { show } from "@/testing/show";
import type { Panel } from "../panels";
import { FoldingPanels } from "./folding-panels";

const END = 1_793_534_400;
const RANGE = 60;
const TIMES = Array.from({ length: RANGE + 1 }, (_, index) => END - RANGE + index);

function panel(id: string, title: string): Panel {
  return { id, title, hint: "", unit: "count", formula: `What ${id} is`, lines: [{ key: id, label: id, color: "s1" }] };
}

function minute(): Series {
  const series = new Series();
  const all = (value: number | null) => TIMES.map(() => value);
  series.accept({ type: "snapshot", topic: "", keys: ["failed", "served", "late"], t: TIMES, v: [all(0), all(3), all(null)] });
  return series;
}

const panels = [panel("failed", "Errors"), panel("served", "Throughput"), panel("late", "Latency")];
const view = (series: Series) => (
  <FoldingPanels panels={panels} charts={new ChartGroup("folding")} series={series} range={RANGE} dimmed={false} />
);

/** The pointer may still rest where another test has left it. */
async function shown(series: Series) {
  await show(view(series));
  await userEvent.hover(page.elementLocator(document.body), { position: { x: 1, y: 1 } });
}

const region = (name: string) => page.getByRole("region", { name, exact: true });
const line = page.getByRole("button", { name: "Errors: none in this range" });

test("what is zero all the time is one line, and a chart as soon as something comes", async () => {
  const series = minute();
  await shown(series);
  await expect.element(line).toHaveAttribute("aria-expanded", "false");
  await expect.element(region("Errors")).not.toBeInTheDocument();
  // What has no values may have a reason for that, which the chart tells.
  await expect.element(region("Latency")).toBeVisible();
  await expect.element(region("Throughput")).toBeVisible();
  series.accept({ type: "tick", topic: "", t: END + 1, v: [2, 3, null] });
  await expect.element(region("Errors")).toHaveTextContent("failed 2");
  await expect.element(line).not.toBeInTheDocument();
});

test("the line opens the chart by keyboard, and folds it", async () => {
  await shown(minute());
  await expect.element(line).toBeVisible();
  (line.element() as HTMLElement).focus();
  await userEvent.keyboard("{Enter}");
  await expect.element(line).toHaveAttribute("aria-expanded", "true");
  await expect.element(region("Errors")).toBeVisible();
  await userEvent.keyboard("{Enter}");
  await expect.element(region("Errors")).not.toBeInTheDocument();
});

test.each([
  ["opened", "{Enter}"],
  ["folded", null],
])("who is at the line, %s, is at the chart when something comes", async (_, keys) => {
  const series = minute();
  await shown(series);
  await expect.element(line).toBeVisible();
  (line.element() as HTMLElement).focus();
  if (keys) await userEvent.keyboard(keys);
  series.accept({ type: "tick", topic: "", t: END + 1, v: [2, 3, null] });
  await expect.element(line).not.toBeInTheDocument();
  await expect.element(region("Errors").getByRole("application")).toHaveFocus();
});

test("a chart in use does not fold away from under the pointer", async () => {
  const series = minute();
  series.accept({ type: "tick", topic: "", t: END + 1, v: [2, 3, null] });
  await shown(series);
  await expect.element(region("Errors")).toHaveTextContent("failed 2");
  const table = page.getByRole("button", { name: "Show Errors as a table" });
  (table.element() as HTMLElement).focus();
  series.accept({ type: "snapshot", topic: "", keys: ["failed", "served", "late"], t: TIMES, v: [0, 0, 0].map(() => TIMES.map(() => 0)) });
  await expect.element(page.getByRole("button", { name: "Throughput: none in this range" })).toBeVisible();
  await expect.element(region("Errors")).toBeVisible();
  (table.element() as HTMLElement).blur();
  series.redraw();
  await expect.element(line).toBeVisible();
});
