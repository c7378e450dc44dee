/** A sheet of values: only what is in view is drawn, the keyboard moves over all of it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useId, useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";
import classes from "./sheet.module.css";
import { moved, type Place } from "./place";

const ROW_PX = 26;
const COLUMN_PX = 84;
const WIDE_COLUMN_PX = 220;
const HEAD_PX = 46;

export interface SheetViewProps {
  /** Accessible name. */
  label: string;
  rows: number;
  columns: number;
  value: (row: number, column: number) => string;
  /** Texts need more room than numbers. */
  wide?: boolean;
  /** Why the value cannot be sent. */
  problem?: (row: number, column: number) => string | null;
  /** Absent: read only. */
  onEdit?: (row: number, column: number, text: string) => void;
  onPaste?: (row: number, column: number, text: string) => void;
}

export function SheetView({ label, rows, columns, value, wide, problem, onEdit, onPaste }: SheetViewProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [draft, setDraft] = useState<string | null>(null);
  /** A key has said what becomes of the draft; otherwise leaving the field keeps it. */
  const decided = useRef(false);
  const columnPx = columns === 1 || wide ? WIDE_COLUMN_PX : COLUMN_PX;
  const getScrollElement = () => box.current;
  const down = useVirtualizer({
    count: rows,
    getScrollElement,
    estimateSize: () => ROW_PX,
    overscan: 6,
    paddingStart: ROW_PX,
    scrollPaddingStart: ROW_PX,
  });
  const across = useVirtualizer({
    count: columns,
    getScrollElement,
    horizontal: true,
    estimateSize: () => columnPx,
    overscan: 3,
    paddingStart: HEAD_PX,
    scrollPaddingStart: HEAD_PX,
  });
  const go = (place: Place) => {
    setActive(place);
    down.scrollToIndex(place.row);
    across.scrollToIndex(place.column);
  };
  const finish = () => {
    decided.current = true;
    setDraft(null);
    // The field hears that it lost the focus before this returns.
    box.current?.focus({ preventScroll: true });
    decided.current = false;
  };
  const commit = (next: Place) => {
    if (draft !== null && onEdit) onEdit(active.row, active.column, draft);
    go(next);
    finish();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const next = moved(active, event.key, { rows, columns }, event.ctrlKey || event.metaKey);
    const types = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (draft !== null && types && event.target === event.currentTarget) {
      // The cell is still scrolling into view, its field is not there yet: what is typed must not get lost.
      setDraft((old) => `${old ?? ""}${event.key}`);
    } else if (draft !== null) {
      if (event.key === "Escape") finish();
      else if (event.key === "Enter") commit(moved(active, "ArrowDown", { rows, columns }) ?? active);
      else if (event.key === "Tab") commit(moved(active, event.shiftKey ? "ArrowLeft" : "ArrowRight", { rows, columns }) ?? active);
      else return;
      event.stopPropagation();
    } else if (next) go(next);
    else if (onEdit && (event.key === "Enter" || event.key === "F2") && !event.ctrlKey && !event.metaKey)
      setDraft(value(active.row, active.column));
    else if (onEdit && types) setDraft(event.key);
    else return;
    event.preventDefault();
  };
  const paste = (event: ClipboardEvent<HTMLDivElement>) => {
    if (draft !== null || !onPaste) return;
    event.preventDefault();
    onPaste(active.row, active.column, event.clipboardData.getData("text/plain"));
  };
  const copy = (event: ClipboardEvent<HTMLDivElement>) => {
    if (draft !== null) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", value(active.row, active.column));
  };
  const shownColumns = across.getVirtualItems();
  const cellId = (row: number, column: number) => `${id}r${row}c${column}`;
  const width = across.getTotalSize();
  return (
    <div
      ref={box}
      className={classes["sheet"]}
      style={{ height: Math.min(rows + 1, 11) * ROW_PX + 14 }}
      role="grid"
      aria-label={label}
      aria-rowcount={rows + 1}
      aria-colcount={columns + 1}
      aria-readonly={onEdit === undefined}
      aria-activedescendant={cellId(active.row, active.column)}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPaste={paste}
      onCopy={copy}
    >
      <div className={classes["canvas"]} style={{ height: down.getTotalSize(), width }} role="presentation">
        <div className={classes["heads"]} role="row" aria-rowindex={1} style={{ width, height: ROW_PX }}>
          <span className={classes["corner"]} role="columnheader" aria-colindex={1} style={{ width: HEAD_PX }}>
            <span className="sr-only">
              <Trans>Row</Trans>
            </span>
          </span>
          {shownColumns.map(({ index, start, size }) => (
            <span
              key={index}
              role="columnheader"
              aria-colindex={index + 2}
              className={classes["head"]}
              style={{ left: start, width: size }}
            >
              {index}
            </span>
          ))}
        </div>
        {down.getVirtualItems().map(({ index: row, start: top }) => (
          <div key={row} className={classes["line"]} role="row" aria-rowindex={row + 2} style={{ top, width, height: ROW_PX }}>
            <span className={classes["rowHead"]} role="rowheader" aria-colindex={1} style={{ width: HEAD_PX }}>
              {row}
            </span>
            {shownColumns.map(({ index: column, start, size }) => {
              const isActive = active.row === row && active.column === column;
              const wrong = problem?.(row, column) ?? null;
              return (
                // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the grid has the keys
                <span
                  key={column}
                  id={cellId(row, column)}
                  role="gridcell"
                  tabIndex={-1}
                  aria-colindex={column + 2}
                  aria-selected={isActive}
                  aria-invalid={wrong === null ? undefined : true}
                  title={wrong ?? undefined}
                  className={classes["cell"]}
                  data-active={isActive || undefined}
                  style={{ left: start, width: size }}
                  onClick={() => {
                    setActive({ row, column });
                    box.current?.focus({ preventScroll: true });
                  }}
                  onDoubleClick={() => onEdit && setDraft(value(row, column))}
                >
                  {isActive && draft !== null ? (
                    <input
                      className={classes["editor"]}
                      aria-label={t`Row ${row}, column ${column}`}
                      autoFocus
                      value={draft}
                      spellCheck={false}
                      onChange={(event) => setDraft(event.currentTarget.value)}
                      onBlur={() => {
                        if (decided.current) return;
                        onEdit?.(row, column, draft);
                        setDraft(null);
                      }}
                    />
                  ) : (
                    value(row, column)
                  )}
                </span>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}
