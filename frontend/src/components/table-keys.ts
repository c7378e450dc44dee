/**
 * A table is one stop of the Tab key: the row that had the focus last. Arrows (or j, k) walk over rows, right and left over
 * what can be pressed in one, up from the first row to the headings.
 */
import type { KeyboardEvent } from "react";

const PRESSABLE = "a[href], button, input, select, textarea";

const inside = (row: Element): HTMLElement[] => [...row.querySelectorAll<HTMLElement>(PRESSABLE)];
/** What a narrow window hides cannot take the focus. */
const reachable = (row: Element): HTMLElement[] =>
  inside(row).filter((element) => !element.matches(":disabled") && element.getClientRects().length > 0);

/** Takes what lies in the rows, and in the headings above them, out of the order of the Tab key. */
export function oneStop(table: HTMLTableElement): void {
  if (table.querySelector("tr[data-row]") === null) return;
  for (const row of table.rows) for (const element of inside(row)) element.tabIndex = -1;
}

interface RowActs {
  open: (() => void) | undefined;
  tick: (() => void) | undefined;
}

/** The row beside, by the order on the page; a row's detail belongs to it. */
function neighbour(row: HTMLTableRowElement, step: 1 | -1): HTMLElement | undefined {
  const table = row.closest("table");
  const rows = [...(table?.rows ?? [])].filter((one) => one.hasAttribute("data-row") || one.closest("thead") !== null);
  const found = rows[rows.indexOf(row) + step];
  return found?.hasAttribute("data-row") ? found : found && reachable(found)[0];
}

function ends(row: HTMLTableRowElement, last: boolean): HTMLElement | undefined {
  const rows = row.closest("table")?.querySelectorAll<HTMLElement>("tr[data-row]");
  return rows?.[last ? rows.length - 1 : 0];
}

/** A field keeps its arrows: they move in its text. */
const keepsArrows = (target: HTMLElement): boolean => target.matches("select, textarea, input:not([type=checkbox])");

export function onRowKey(event: KeyboardEvent<HTMLTableRowElement>, { open, tick }: RowActs): void {
  const { currentTarget, target, key } = event;
  // why: a menu that a button opens lies elsewhere on the page, and its keys come here, too.
  if (!(target instanceof HTMLElement) || !currentTarget.contains(target)) return;
  const above = currentTarget.previousElementSibling;
  const row = currentTarget.hasAttribute("data-detail") && above instanceof HTMLTableRowElement ? above : currentTarget;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const onRow = target === row;
  let go: HTMLElement | undefined;
  if (!onRow && keepsArrows(target)) return;
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const stops = row.hasAttribute("data-row") ? [row, ...detailed(row)] : reachable(row);
    go = stops[stops.indexOf(target) + (key === "ArrowRight" ? 1 : -1)];
  } else if (!onRow && row.hasAttribute("data-row")) return;
  else if (key === "Enter" && onRow && open) open();
  else if (key === "x" && onRow && tick) tick();
  else if (key === "j" || key === "ArrowDown") go = neighbour(row, 1);
  else if (key === "k" || key === "ArrowUp") go = neighbour(row, -1);
  else if (key === "Home" && onRow) go = ends(row, false);
  else if (key === "End" && onRow) go = ends(row, true);
  else return;
  // why only then: at the end of a row the arrow scrolls a table that is wider than its box.
  if (!go && (key === "ArrowRight" || key === "ArrowLeft")) return;
  event.preventDefault();
  go?.focus();
}

/** What can be pressed in a row, and in its detail below it. */
function detailed(row: HTMLTableRowElement): HTMLElement[] {
  const below = row.nextElementSibling;
  return below?.hasAttribute("data-detail") ? [...reachable(row), ...reachable(below)] : reachable(row);
}
