import { describe, expect, it } from "vitest";
import { batchTable } from "./batch-table";

const SIZES = [1, 4];
/** A point a second. */
const TIMES = [1, 2, 3, 4];
const table = (columns: Record<string, (number | null)[]>, times = TIMES) => batchTable(SIZES, times, (key) => columns[key] ?? []);

describe("batch sizes that ran", () => {
  it("counts executions and items, and finds the cheapest item", () => {
    const found = table({
      "batch.1.all": [0.5, 0.5],
      "batch.4.all": [0.5, 0.5],
      "batch_us.1.all": [100, 300],
      "batch_us.4.all": [400, 400],
    });
    expect(found.mean).toBe(2.5);
    expect(found.rows).toEqual([
      { size: 1, executions: 0.5, inferences: 0.2, compute: 200, perItem: 200, best: false },
      { size: 4, executions: 0.5, inferences: 0.8, compute: 400, perItem: 100, best: true },
    ]);
  });

  it("counts two seconds of the past like four half seconds of now", () => {
    const found = table(
      {
        "batch.1.all": [1, 1, 0, 0, 0, 0],
        "batch.4.all": [0, 0, 1, 1, 1, 1],
        "batch_us.1.all": [100, 100, null, null, null, null],
        "batch_us.4.all": [null, 800, 200, 200, 200, 200],
      },
      [2, 4, 4.5, 5, 5.5, 6],
    );
    expect(found.rows.map((row) => row.executions)).toEqual([4 / 6, 2 / 6]);
    expect(found.rows.map((row) => row.compute)).toEqual([100, 500]);
    expect(found.mean).toBe(2);
  });

  it("leaves out times in which nothing ran, and sizes that did not", () => {
    const found = table({ "batch.1.all": [null, 0, 1, 1], "batch.4.all": [null, 0, 0, null] });
    expect(found.rows.map((row) => [row.size, row.executions])).toEqual([[1, 1]]);
    expect(found.rows[0]).toMatchObject({ compute: null, perItem: null, best: false });
    expect(found.mean).toBe(1);
  });

  it("calls nothing best that hardly ran", () => {
    const found = table({ "batch.1.all": [0.995], "batch.4.all": [0.005], "batch_us.1.all": [100], "batch_us.4.all": [8] });
    expect(found.rows.map((row) => row.best)).toEqual([true, false]);
  });

  it.each([[{}], [{ "batch.1.all": [null, null] }], [{ "batch.1.all": [0, 0] }]])("is empty where nothing ran: %j", (columns) => {
    expect(table(columns)).toEqual({ rows: [], mean: null });
  });
});
