import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { type Column, DataTable } from "./data-table";

interface Row {
  name: string;
  rate: number | null;
}

const ROWS: Row[] = [
  { name: "blue", rate: 9 },
  { name: "green", rate: null },
  { name: "canary", rate: 110 },
];
const COLUMNS: Column<Row>[] = [
  { id: "name", header: "Name", cell: (row) => row.name, sortValue: (row) => row.name },
  { id: "rate", header: "Rate", cell: (row) => row.rate ?? "–", sortValue: (row) => row.rate },
  { id: "act", header: <span className="sr-only">Actions</span>, cell: (row) => <button type="button">Stop {row.name}</button> },
];

interface TableProps {
  onOpen?: (row: Row) => void;
  onTick?: (row: Row) => void;
  choose?: string;
}

function Table(props: TableProps) {
  const [sort, setSort] = useState<string>();
  return <DataTable label="Deployments" columns={COLUMNS} rows={ROWS} rowKey={(row) => row.name} sort={sort} onSort={setSort} {...props} />;
}

const names = () =>
  page
    .getByRole("row")
    .elements()
    .slice(1)
    .map((row) => row.querySelector("td")?.textContent);

test("a heading sorts up, down, and back to the order of the server; what is unknown stays last", async () => {
  await show(<Table />);
  const rate = page.getByRole("columnheader", { name: "Rate" });
  const button = page.getByRole("button", { name: "Rate" });
  await button.click();
  await expect.element(rate).toHaveAttribute("aria-sort", "ascending");
  expect(names()).toEqual(["blue", "canary", "green"]);
  await button.click();
  await expect.element(rate).toHaveAttribute("aria-sort", "descending");
  expect(names()).toEqual(["canary", "blue", "green"]);
  await button.click();
  await expect.element(rate).not.toHaveAttribute("aria-sort");
  expect(names()).toEqual(["blue", "green", "canary"]);
});

test("numbers are sorted as numbers, whatever stands behind their point", async () => {
  const shares = [0.5, 0.25, 1e-7, -3, 10, 2.125].map((rate) => ({ name: String(rate), rate }));
  await show(<DataTable label="Shares" columns={COLUMNS} rows={shares} rowKey={(row) => row.name} sort="rate" onSort={() => {}} />);
  expect(names()).toEqual(["-3", "1e-7", "0.25", "0.5", "2.125", "10"]);
});

test("the keyboard walks over the rows, ticks and opens; keys of a button in a row are the button's", async () => {
  const onOpen = vi.fn();
  const onTick = vi.fn();
  await show(<Table onOpen={onOpen} onTick={onTick} />);
  page.getByRole("row", { name: "blue" }).element().focus();
  await userEvent.keyboard("j{ArrowDown}");
  await expect.element(page.getByRole("row", { name: "canary" })).toHaveFocus();
  await userEvent.keyboard("j");
  await expect.element(page.getByRole("row", { name: "canary" })).toHaveFocus();
  await userEvent.keyboard("kx{Enter}");
  expect(onTick.mock.calls).toEqual([[ROWS[1]]]);
  expect(onOpen.mock.calls).toEqual([[ROWS[1]]]);
  await userEvent.keyboard("{ArrowRight}");
  await expect.element(page.getByRole("button", { name: "Stop green" })).toHaveFocus();
  await userEvent.keyboard("{Enter}x");
  expect(onOpen).toHaveBeenCalledTimes(1);
  expect(onTick).toHaveBeenCalledTimes(1);
});

test("a click on a row opens it, a click on what is in it does not", async () => {
  const onOpen = vi.fn();
  await show(<Table onOpen={onOpen} />);
  await page.getByRole("button", { name: "Stop blue" }).click();
  expect(onOpen).not.toHaveBeenCalled();
  await page.getByRole("cell", { name: "110" }).click();
  expect(onOpen.mock.calls).toEqual([[ROWS[2]]]);
});

test("the columns are chosen by keyboard, the choice is kept, and the focus comes back", async () => {
  const first = await show(<Table choose="deployments" />);
  const columns = page.getByRole("button", { name: "Columns" });
  await columns.click();
  const rate = page.getByRole("checkbox", { name: "Rate" });
  await expect.element(rate).toHaveFocus();
  await userEvent.keyboard(" {Escape}");
  await expect.element(rate).not.toBeInTheDocument();
  await expect.element(columns).toHaveFocus();
  await expect.element(page.getByRole("columnheader", { name: "Rate" })).not.toBeInTheDocument();
  await first.unmount();
  await show(<Table choose="deployments" />);
  await expect.element(page.getByRole("columnheader", { name: "Name" })).toBeVisible();
  await expect.element(page.getByRole("columnheader", { name: "Rate" })).not.toBeInTheDocument();
});

test("a table wider than its box scrolls in it by keys, and the page does not", async () => {
  await page.viewport(320, 600);
  const wide: Column<Row>[] = Array.from({ length: 12 }, (_, index) => ({
    id: String(index),
    header: `Column ${index}`,
    width: 120,
    cell: (row) => row.name,
  }));
  await show(<DataTable label="Wide" columns={wide} rows={ROWS} rowKey={(row) => row.name} />);
  const table = page.getByRole("table", { name: "Wide" });
  await userEvent.tab();
  await expect.element(page.getByRole("row").nth(1)).toHaveFocus();
  await userEvent.keyboard("{ArrowRight}");
  await expect.poll(() => table.element().parentElement?.scrollLeft).toBeGreaterThan(0);
  expect(document.documentElement.scrollWidth).toBe(320);
});

test("a table is one stop of the Tab key, at the row that had the focus last; arrows reach all that is in it", async () => {
  const onOpen = vi.fn();
  await show(
    <>
      <button type="button">Before</button>
      <Table onOpen={onOpen} choose="stops" />
      <button type="button">Behind</button>
    </>,
  );
  page.getByRole("button", { name: "Before" }).element().focus();
  await userEvent.tab();
  await expect.element(page.getByRole("row", { name: "blue" })).toHaveFocus();
  await userEvent.tab();
  await expect.element(page.getByRole("button", { name: "Behind" })).toHaveFocus();
  await userEvent.tab({ shift: true });
  await userEvent.keyboard("{End}");
  await expect.element(page.getByRole("row", { name: "canary" })).toHaveFocus();
  await userEvent.keyboard("{ArrowRight}");
  await expect.element(page.getByRole("button", { name: "Stop canary" })).toHaveFocus();
  await userEvent.tab();
  await expect.element(page.getByRole("button", { name: "Behind" })).toHaveFocus();
  await userEvent.tab({ shift: true });
  await expect.element(page.getByRole("row", { name: "canary" })).toHaveFocus();
  await userEvent.keyboard("{Home}{ArrowUp}");
  await expect.element(page.getByRole("button", { name: "Name" })).toHaveFocus();
  await userEvent.keyboard("{ArrowRight}{Enter}{ArrowRight}");
  await expect.element(page.getByRole("columnheader", { name: "Rate" })).toHaveAttribute("aria-sort", "ascending");
  await expect.element(page.getByRole("button", { name: "Columns" })).toHaveFocus();
  await userEvent.keyboard("{ArrowDown}");
  await expect.element(page.getByRole("row", { name: "blue" })).toHaveFocus();
  expect(onOpen).not.toHaveBeenCalled();
});

const NARROW: Column<Row>[] = [
  { id: "name", header: "Name", cell: (row) => row.name },
  { id: "rate", header: "Rate", hideBelow: "sm", cell: (row) => `${row.rate ?? "–"} req/s` },
  { id: "node", header: "Node", hideBelow: "lg", cell: (row) => <a href={`#${row.name}`}>{`node of ${row.name}`}</a> },
];

test("what a narrow window hides is in the row's detail, and nothing that it shows", async () => {
  await page.viewport(1280, 800);
  const shown = await show(<DataTable label="Narrow" columns={NARROW} rows={ROWS} rowKey={(row) => row.name} />);
  const further = page.getByRole("button", { name: "Further columns of row 1" });
  expect(further.elements()).toHaveLength(0);
  await shown.unmount();
  await page.viewport(1000, 800);
  const middle = await show(<DataTable label="Narrow" columns={NARROW} rows={ROWS} rowKey={(row) => row.name} />);
  await further.click();
  const detail = page.getByRole("definition");
  await expect.element(detail).toHaveTextContent("node of blue");
  expect(detail.elements()).toHaveLength(1);
  await middle.unmount();
  await page.viewport(360, 640);
  await show(<DataTable label="Narrow" columns={NARROW} rows={ROWS} rowKey={(row) => row.name} />);
  await userEvent.tab();
  await userEvent.keyboard("{ArrowRight}{Enter}");
  await expect.element(detail.first()).toHaveTextContent("9 req/s");
  expect(detail.elements()).toHaveLength(2);
  await userEvent.keyboard("{ArrowRight}");
  await expect.element(page.getByRole("link", { name: "node of blue" })).toHaveFocus();
  expect(document.documentElement.scrollWidth).toBe(360);
});

test("in a table wider than a phone the detail and what opens it stay in view, however it is scrolled", async () => {
  await page.viewport(360, 640);
  const broad: Column<Row>[] = [
    { id: "wide", header: "Wide", cell: () => <div style={{ width: 500 }}>wide</div> },
    { id: "words", header: "Words", hideBelow: "sm", cell: (row) => `${row.name} and very many other words behind it `.repeat(4) },
  ];
  await show(<DataTable label="Broad" columns={broad} rows={ROWS} rowKey={(row) => row.name} />);
  const further = page.getByRole("button", { name: "Further columns of row 1" });
  const edges = (element: Element) => {
    const { left, right } = element.getBoundingClientRect();
    return left >= 0 && right <= 360;
  };
  const box = page.getByRole("table").element().parentElement;
  expect(edges(further.element())).toBe(true);
  await further.click();
  const shown = [page.getByRole("term").element(), page.getByRole("definition").element()];
  expect(shown.map(edges)).toEqual([true, true]);
  box?.scrollTo(1_000, 0);
  expect(box?.scrollLeft).toBeGreaterThan(0);
  expect([further.element(), ...shown].map(edges)).toEqual([true, true, true]);
});
