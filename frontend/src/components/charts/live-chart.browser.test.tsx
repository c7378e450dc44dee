import axe from "axe-core";
import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { highKey, lowKey } from "@/live/metric-keys";
import { Series } from "@/live/series";
import { show } from "@/testing/show";
import { ChartGroup } from "./chart-group";
import { LiveChart, type LiveChartProps } from "./live-chart";

const END = 1_793_534_400;
const RANGE = 60;

/** A minute of two lines, a point a second: one climbs from 0 to 60, the other stays at 5. */
function minute(): Series {
  const series = new Series();
  const t = Array.from({ length: RANGE + 1 }, (_, index) => END - RANGE + index);
  series.accept({ type: "snapshot", topic: "", keys: ["climbs", "stays"], t, v: [t.map((_, index) => index), t.map(() => 5)] });
  return series;
}

let groups = 0;

const PROPS = {
  title: "Throughput",
  formula: "What was answered, per second",
  lines: [
    { key: "climbs", label: "blue", color: "s1" },
    { key: "stays", label: "green", color: "s3" },
  ],
  unit: "count",
} satisfies Partial<LiveChartProps>;

function chart(series: Series, group = new ChartGroup(`test ${(groups += 1)}`), height = 144) {
  return <LiveChart {...PROPS} series={series} range={RANGE} group={group} height={height} />;
}

const panel = page.getByRole("region", { name: "Throughput" });
const image = panel.getByRole("img", { name: "Throughput: live chart of blue, green" });
const legend = (name: string) => panel.getByRole("listitem").filter({ hasText: name });
const canvas = () => image.element().querySelector("canvas") as HTMLCanvasElement;
const plot = () => image.element().querySelector(".u-over") as HTMLElement;

/** How many pixels have about this colour. */
function painted(name: string): number {
  const wanted = document.createElement("canvas").getContext("2d");
  const context = canvas().getContext("2d");
  if (!context || !wanted) throw new Error("no canvas");
  wanted.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  wanted.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = wanted.getImageData(0, 0, 1, 1).data;
  const { data } = context.getImageData(0, 0, canvas().width, canvas().height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    const far = Math.abs((data[at] ?? 0) - red) + Math.abs((data[at + 1] ?? 0) - green) + Math.abs((data[at + 2] ?? 0) - blue);
    if ((data[at + 3] ?? 0) > 100 && far < 60) found += 1;
  }
  return found;
}

test("lines are painted in their colours, and the legend has the newest values", async () => {
  const series = minute();
  await show(chart(series));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  await expect.poll(() => painted("s1")).toBeGreaterThan(100);
  expect(painted("s3")).toBeGreaterThan(100);
  series.accept({ type: "tick", topic: "", t: END + 1, v: [71, null] });
  await expect.element(legend("blue")).toHaveTextContent("blue 71");
  await expect.element(legend("green")).toHaveTextContent("green –");
});

test("the cursor reads the values of its moment, until it leaves", async () => {
  await show(chart(minute()));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  const { width, height } = plot().getBoundingClientRect();
  await userEvent.hover(page.elementLocator(plot()), { position: { x: width / 2, y: height / 2 } });
  await expect.element(legend("blue")).toHaveTextContent("blue 30");
  await userEvent.unhover(page.elementLocator(plot()));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
});

test("what is dragged over is zoomed into, by every chart of the page; a double click goes back", async () => {
  const group = new ChartGroup("zoomed");
  await show(chart(minute(), group));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  const over = page.elementLocator(plot());
  const { width, height } = plot().getBoundingClientRect();
  await userEvent.dragAndDrop(over, over, {
    sourcePosition: { x: width / 4, y: height / 2 },
    targetPosition: { x: width / 2, y: height / 2 },
  });
  await expect.poll(() => group.zoom?.map((at) => Math.round(at - END))).toEqual([-45, -30]);
  await userEvent.dblClick(over);
  await expect.poll(() => group.zoom).toBeNull();
});

test("the same as a table has the figures, and the chart comes back at its size", async () => {
  const series = minute();
  await show(chart(series));
  await panel.getByRole("button", { name: "Show Throughput as a table" }).click();
  const table = panel.getByRole("table", { name: "Throughput, visible range" });
  await expect.element(table.getByRole("row", { name: "blue" })).toHaveTextContent("blue6003060");
  // What comes right after it is told too, though nothing comes after that.
  series.accept({ type: "tick", topic: "", t: END + 1, v: [71, 5] });
  await expect.element(table.getByRole("row", { name: "blue" })).toHaveTextContent(/^blue71/);
  await expect.element(image).not.toBeInTheDocument();
  await panel.getByRole("button", { name: "Show Throughput as a chart" }).click();
  await expect.element(image).toBeVisible();
  await expect.poll(() => canvas().getBoundingClientRect().width).toBe(image.element().clientWidth);
});

test("the table has what is in view: not beside a zoom, and the bounds of buckets where there are some", async () => {
  const group = new ChartGroup("table");
  const first = await show(chart(minute(), group));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  await panel.getByRole("button", { name: "Show Throughput as a table" }).click();
  const row = panel.getByRole("table").getByRole("row", { name: "blue" });
  await expect.element(row).toHaveTextContent("blue6003060");
  group.setZoom([END - 40, END - 20]);
  await expect.element(row).toHaveTextContent("blue40203040");
  await first.unmount();

  const buckets = new Series();
  const t = [END - 120, END - 60, END];
  const keys = ["climbs", lowKey("climbs"), highKey("climbs")];
  buckets.accept({
    type: "snapshot",
    topic: "",
    keys,
    t,
    v: [
      [50, 7, 9],
      [40, 2, 4],
      [90, 30, 20],
    ],
  });
  await show(<LiveChart {...PROPS} series={buckets} range={60} group={new ChartGroup("buckets")} envelope />);
  await panel.getByRole("button", { name: "Show Throughput as a table" }).click();
  await expect.element(row).toHaveTextContent("blue92830");
});

test("it follows the width of its box", async () => {
  await page.viewport(1000, 600);
  await show(chart(minute()));
  await expect.poll(() => canvas().getBoundingClientRect().width).toBeGreaterThan(900);
  await page.viewport(400, 600);
  await expect.poll(() => canvas().getBoundingClientRect().width).toBe(image.element().clientWidth);
  expect(document.documentElement.scrollWidth).toBe(400);
});

test("how it is computed is told to whoever comes by keyboard", async () => {
  await show(chart(minute()));
  await expect.element(image).toBeVisible();
  await userEvent.tab();
  await expect.element(panel.getByRole("button", { name: "How Throughput is computed" })).toHaveFocus();
  await expect.element(page.getByRole("tooltip", { name: "What was answered, per second" })).toBeVisible();
});

const keyboard = panel.getByRole("application", { name: "Throughput, read by arrow keys" });
const focus = () => (keyboard.element() as HTMLElement).focus();
const said = () => keyboard.element().querySelector("[aria-live=polite]")?.textContent ?? "";

test("arrow keys read it point by point, Shift ten at a time, and the moment stays while new points come", async () => {
  const series = minute();
  await show(chart(series));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  focus();
  await userEvent.keyboard("{ArrowLeft}");
  await expect.poll(said).toMatch(/^\d\d:\d\d:\d\d: blue 60, green 5$/);
  await userEvent.keyboard("{ArrowLeft}");
  await expect.element(legend("blue")).toHaveTextContent("blue 59");
  await userEvent.keyboard("{Shift>}{ArrowLeft}{/Shift}");
  await expect.element(legend("blue")).toHaveTextContent("blue 49");
  await expect.poll(said).toContain("blue 49, green 5");
  series.accept({ type: "tick", topic: "", t: END + 2, v: [71, 5] });
  // Drawn, and what follows from that, too.
  for (let frames = 0; frames < 4; frames += 1) await new Promise(requestAnimationFrame);
  await expect.element(legend("blue")).toHaveTextContent("blue 49");
  (keyboard.element() as HTMLElement).blur();
  await expect.element(legend("blue")).toHaveTextContent("blue 71");
  expect(said()).toBe("");
});

test("before the first points the keys say that there are none", async () => {
  await show(chart(new Series()));
  focus();
  await userEvent.keyboard("{ArrowLeft}");
  await expect.poll(said).toBe("No points in this range");
});

test("all charts of the page read the moment that one is read at", async () => {
  const group = new ChartGroup("together");
  await show(
    <>
      {chart(minute(), group)}
      {chart(minute(), group)}
    </>,
  );
  const others = panel.nth(1).getByRole("listitem").filter({ hasText: "blue" });
  await expect.element(others).toHaveTextContent("blue 60");
  (keyboard.nth(0).element() as HTMLElement).focus();
  await userEvent.keyboard("{ArrowLeft}{Shift>}{ArrowLeft}{/Shift}");
  await expect.element(others).toHaveTextContent("blue 50");
  (keyboard.nth(0).element() as HTMLElement).blur();
  await expect.element(others).toHaveTextContent("blue 60");
});

test("Enter begins a selection and zooms into it, Escape gives it up and goes back", async () => {
  const group = new ChartGroup("by keyboard");
  await show(chart(minute(), group));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  focus();
  await userEvent.keyboard("{Home}{Enter}{Escape}");
  await expect.poll(said).toBe("No selection");
  await userEvent.keyboard("{Enter}{Shift>}{ArrowRight}{ArrowRight}{/Shift}");
  const share = () => (image.element().querySelector(".u-select") as HTMLElement).offsetWidth / plot().offsetWidth;
  await expect.poll(share).toBeCloseTo(1 / 3, 1);
  await userEvent.keyboard("{Enter}");
  expect(group.zoom).toEqual([END - 60, END - 40]);
  await expect.poll(said).toMatch(/^Zoomed: /);
  await userEvent.keyboard("{Escape}");
  expect(group.zoom).toBeNull();
  await expect.element(keyboard).toHaveFocus();
});

test("a chart that a selection builds anew has the focus again, once", async () => {
  const group = new ChartGroup("anew");
  const ranges: unknown[] = [];
  group.onSelect((range) => ranges.push(range), false);
  const first = await show(chart(minute(), group));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  focus();
  await userEvent.keyboard("{Home}{Enter}{End}{Enter}");
  expect(ranges).toEqual([[END - 60, END]]);
  await first.unmount();
  await show(chart(minute(), group));
  await expect.element(keyboard).toHaveFocus();
  expect(group.takesFocus("Throughput")).toBe(false);
});

function Rebuilt({ group }: { group: ChartGroup }) {
  const [height, setHeight] = useState(100);
  const [series] = useState(minute);
  return (
    <>
      {chart(series, group, height)}
      <button type="button" onClick={() => setHeight(height + 20)}>
        Build anew
      </button>
    </>
  );
}

test("a zoom in place, and a chart that comes when somebody is elsewhere, take no focus", async () => {
  const group = new ChartGroup("elsewhere");
  await show(<Rebuilt group={group} />);
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  focus();
  await userEvent.keyboard("{Home}{Enter}{End}{Enter}");
  (keyboard.element() as HTMLElement).blur();
  expect(group.takesFocus("Throughput")).toBe(false);
  group.onSelect(() => undefined, false);
  focus();
  await userEvent.keyboard("{Home}{Enter}{End}{Enter}");
  const anew = page.getByRole("button", { name: "Build anew" });
  await anew.click();
  await expect.poll(() => image.element().clientHeight).toBe(120);
  await expect.element(anew).toHaveFocus();
});

test("a gap tells its reason to the pointer and to the keyboard", async () => {
  const series = new Series();
  const t = Array.from({ length: RANGE + 1 }, (_, index) => END - RANGE + index);
  series.accept({
    type: "snapshot",
    topic: "",
    keys: ["climbs", "stays"],
    t,
    v: [t.map((at) => (at < END - 20 ? null : 1)), t.map(() => 5)],
  });
  const group = new ChartGroup("gaps");
  group.onGap((key, time) => `${key} had no request at ${time - END}`);
  await show(chart(series, group));
  await expect.element(legend("blue")).toHaveTextContent("blue 1");
  const { width, height } = plot().getBoundingClientRect();
  await userEvent.hover(page.elementLocator(plot()), { position: { x: width / 2, y: height / 2 } });
  await expect.element(panel).toHaveTextContent("blue: climbs had no request at -30");
  await userEvent.hover(page.elementLocator(plot()), { position: { x: width - 4, y: height / 2 } });
  await expect.element(panel).not.toHaveTextContent("had no request");
  focus();
  await userEvent.keyboard("{Home}");
  await expect.poll(said).toMatch(/blue –, green 5; blue: climbs had no request at -60$/);
});

test("axe has nothing to say", async () => {
  await show(chart(minute()));
  await expect.element(legend("blue")).toHaveTextContent("blue 60");
  const { violations } = await axe.run(panel.element());
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
});
