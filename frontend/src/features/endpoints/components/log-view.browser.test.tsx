import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { LogLine } from "@/api/types";
import { show } from "@/testing/show";
import { LogView } from "./log-view";

const AT = "2026-11-01T12:00:00Z";
const line = (id: number, text = `line ${id}.`): LogLine => ({ id, at: AT, replica_id: "r-0", stream: "stdout", text, level: "" });
const lines = (from: number, count: number) => Array.from({ length: count }, (_, index) => line(from + index));
const ORDINALS = new Map([["r-0", 0]]);

function Log({
  start,
  wrap = false,
  marked,
  onMark = () => undefined,
}: {
  start: LogLine[];
  wrap?: boolean;
  marked?: number;
  onMark?: (id: number) => void;
}) {
  const [shown, setShown] = useState(start);
  return (
    <>
      <button type="button" onClick={() => setShown([...shown, ...lines((shown.at(-1)?.id ?? 0) + 1, 3)])}>
        Three more
      </button>
      <LogView lines={shown} ordinals={ORDINALS} wrap={wrap} marked={marked} onMark={onMark} />
    </>
  );
}

const log = page.getByRole("log", { name: "Log lines" });
const text = (id: number) => log.getByText(`line ${id}.`, { exact: true });

test("of 20,000 lines only those in view exist, and the newest is in view", async () => {
  await show(<Log start={lines(1, 20_000)} />);
  await expect.element(text(20_000)).toBeInViewport();
  expect(log.getByRole("button").elements().length).toBeLessThan(100);
  await page.getByRole("button", { name: "Three more" }).click();
  await expect.element(text(20_003)).toBeInViewport();
});

test("whoever scrolls up is left there, told of what is new, and taken to the end when they ask", async () => {
  await show(<Log start={lines(1, 2_000)} />);
  await expect.element(text(2_000)).toBeInViewport();
  log.element().focus();
  await userEvent.keyboard("{PageUp}");
  await expect.element(page.getByRole("button", { name: "Follow" })).toBeVisible();
  await expect.element(text(2_000)).not.toBeInViewport();
  await page.getByRole("button", { name: "Three more" }).click();
  await page.getByRole("button", { name: "3 new lines" }).click();
  await expect.element(text(2_003)).toBeInViewport();
  await expect.element(page.getByRole("button", { name: /new line|Follow/ })).not.toBeInTheDocument();
});

test("a link to a line shows it in the middle, and what comes later does not pull it away", async () => {
  await show(<Log start={lines(1, 2_000)} marked={900} />);
  await expect.element(text(900)).toBeInViewport();
  await page.getByRole("button", { name: "Three more" }).click();
  await expect.element(page.getByRole("button", { name: /Follow|new lines/ })).toBeVisible();
  await expect.element(text(900)).toBeInViewport();
  await expect.element(text(2_003)).not.toBeInTheDocument();
});

test("a long line goes on in the next row and lies over no other", async () => {
  const long = line(2, `${"word ".repeat(300)}end`);
  const shown = await show(<Log start={[line(1), long, line(3)]} wrap />);
  await expect.element(text(3)).toBeVisible();
  await expect
    .poll(() => text(3).element().getBoundingClientRect().top)
    .toBeGreaterThanOrEqual(log.getByText("end").element().getBoundingClientRect().bottom);
  expect(log.element().scrollWidth).toBe(log.element().clientWidth);
  await shown.unmount();
  await show(<Log start={[line(1), long, line(3)]} />);
  await expect.element(text(3)).toBeVisible();
  expect(log.element().scrollWidth).toBeGreaterThan(log.element().clientWidth);
});

test("the time of a line is the link to it", async () => {
  const onMark = vi.fn();
  await show(<Log start={lines(7, 2)} onMark={onMark} />);
  await log.getByRole("button").nth(1).click();
  expect(onMark.mock.calls).toEqual([[8]]);
});
