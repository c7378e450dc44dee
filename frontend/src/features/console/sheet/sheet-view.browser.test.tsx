import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { show } from "@/testing/show";
import { SheetView } from "./sheet-view";

interface SheetProps {
  rows: number;
  columns: number;
  onPaste?: (row: number, column: number, text: string) => void;
  readOnly?: boolean;
}

function Sheet({ rows, columns, onPaste, readOnly = false }: SheetProps) {
  const [edited, setEdited] = useState<Record<string, string>>({});
  return (
    <div style={{ width: 600 }}>
      <SheetView
        label="Values of x"
        rows={rows}
        columns={columns}
        value={(row, column) => edited[`${row},${column}`] ?? `${row}.${column}`}
        problem={(row, column) => (edited[`${row},${column}`] === "wrong" ? "not a number" : null)}
        {...(readOnly
          ? {}
          : { onEdit: (row: number, column: number, text: string) => setEdited((old) => ({ ...old, [`${row},${column}`]: text })) })}
        {...(onPaste ? { onPaste } : {})}
      />
    </div>
  );
}

const grid = page.getByRole("grid", { name: "Values of x" });
const cell = (text: string) => grid.getByRole("gridcell", { name: text, exact: true });
/** What a screen reader is told to be on. */
const active = () => document.getElementById(grid.element().getAttribute("aria-activedescendant") ?? "")?.textContent;

test("the keys reach the far corner of a million values, of which few exist", async () => {
  await show(<Sheet rows={1000} columns={1000} />);
  await userEvent.tab();
  await expect.element(grid).toHaveFocus();
  await userEvent.keyboard("{Control>}{End}{/Control}");
  await expect.element(cell("999.999")).toBeInViewport();
  await expect.poll(active).toBe("999.999");
  expect(grid.getByRole("gridcell").elements().length).toBeLessThan(600);
  await userEvent.keyboard("{ArrowUp}{ArrowLeft}{PageUp}");
  await expect.poll(active).toBe("988.998");
  await userEvent.keyboard("{Control>}{Home}{/Control}");
  await expect.poll(active).toBe("0.0");
});

test("the headings stay in sight, over the values that were scrolled to", async () => {
  await show(<Sheet rows={100} columns={100} />);
  await userEvent.tab();
  await userEvent.keyboard("{Control>}{End}{/Control}");
  await expect.element(cell("99.99")).toBeInViewport();
  const box = grid.element().getBoundingClientRect();
  const column = grid.getByRole("columnheader", { name: "99", exact: true }).element().getBoundingClientRect();
  const row = grid.getByRole("rowheader", { name: "99", exact: true }).element().getBoundingClientRect();
  expect(Math.abs(column.top - box.top)).toBeLessThan(3);
  expect(Math.abs(row.left - box.left)).toBeLessThan(3);
});

test("typing replaces a value; Enter goes down, Tab to the right, Escape gives the old one back", async () => {
  await show(<Sheet rows={5} columns={4} />);
  await cell("1.1").click();
  await userEvent.keyboard("42{Enter}");
  await expect.element(cell("42")).toBeVisible();
  await expect.poll(active).toBe("2.1");
  await userEvent.keyboard("7{Tab}");
  await expect.element(cell("7")).toBeVisible();
  await expect.poll(active).toBe("2.2");
  await userEvent.keyboard("9{Escape}");
  await expect.element(cell("2.2")).toBeVisible();
  await expect.element(grid).toHaveFocus();
  await userEvent.keyboard("{F2}");
  await expect.element(page.getByRole("textbox", { name: "Row 2, column 2" })).toHaveValue("2.2");
});

test("what cannot be sent is marked, with the reason", async () => {
  await show(<Sheet rows={2} columns={2} />);
  await cell("0.0").click();
  await userEvent.keyboard("wrong{Enter}");
  await expect.element(cell("wrong")).toHaveAttribute("aria-invalid", "true");
  await expect.element(cell("wrong")).toHaveAttribute("title", "not a number");
});

test("what was copied from one place is pasted at another", async () => {
  const onPaste = vi.fn();
  await show(<Sheet rows={5} columns={4} onPaste={onPaste} />);
  await cell("1.2").click();
  await userEvent.keyboard("{Control>}c{/Control}");
  await cell("3.0").click();
  await userEvent.keyboard("{Control>}v{/Control}");
  await expect.poll(() => onPaste.mock.calls).toEqual([[3, 0, "1.2"]]);
});

test("a sheet to read takes no letter", async () => {
  await show(<Sheet rows={3} columns={3} readOnly />);
  await cell("1.1").click();
  await userEvent.keyboard("5{Enter}");
  await expect.element(cell("1.1")).toBeVisible();
  await expect.element(page.getByRole("textbox")).not.toBeInTheDocument();
});
