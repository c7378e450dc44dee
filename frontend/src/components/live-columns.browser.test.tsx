import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { show } from "@/testing/show";
import { DataTable } from "./data-table";
import { type LiveFigures, liveColumns } from "./live-columns";

interface Row {
  name: string;
  live?: LiveFigures;
}

const ROWS: Row[] = [
  { name: "busy", live: { answer_rate: 9.97, p95_us: 5_240, error_rate: 0 } },
  { name: "never-called", live: { answer_rate: 0, p95_us: null, error_rate: null } },
  { name: "dead", live: { answer_rate: 5, p95_us: 812, error_rate: 1 } },
  { name: "asleep", live: { answer_rate: null, p95_us: null, error_rate: null } },
  { name: "just-listed" },
];

const cells = (name: string) =>
  Array.from(page.getByRole("row", { name }).element().querySelectorAll("td"), (cell) => cell.textContent.replaceAll("\u00a0", " "));

test("an endpoint has the requests that callers were answered, none where nobody called, and – where nobody knows", async () => {
  const columns = [{ id: "name", header: "Name", cell: (row: Row) => row.name }, ...liveColumns<Row>((row) => row.live)];
  await show(<DataTable label="Endpoints" columns={columns} rows={ROWS} rowKey={(row) => row.name} />);
  await expect.element(page.getByRole("columnheader", { name: "Requests" })).toBeVisible();
  expect(ROWS.map((row) => cells(row.name).slice(0, 4))).toEqual([
    ["busy", "9.97 req/s", "5.24 ms", "0 %"],
    ["never-called", "0 req/s", "–", "–"],
    ["dead", "5.00 req/s", "812 µs", "100 %"],
    ["asleep", "–", "–", "–"],
    ["just-listed", "–", "–", "–"],
  ]);
  const bad = page.getByRole("table").element().querySelectorAll("[data-bad]");
  expect(Array.from(bad, (cell) => cell.closest("tr")?.firstElementChild?.textContent)).toEqual(["dead"]);
});
