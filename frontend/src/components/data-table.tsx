/**
 * A real `<table>`: sortable headings with `aria-sort`, loading and empty states, one stop of the Tab key (`table-keys.ts`), and a
 * detail for each row of what a narrow window hides.
 */
import { t } from "@lingui/core/macro";
import {
  type ColumnDef,
  createSortedRowModel,
  type RowData,
  type Row as TableRow,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { IconChevronDown, IconChevronRight, IconChevronUp } from "@tabler/icons-react";
import { Fragment, useLayoutEffect, useMemo, useRef, useState } from "react";
import { currentLanguage } from "@/i18n/language";
import { optional } from "./column-choice";
import { ColumnMenu, useColumnChoice } from "./column-menu";
import classes from "./data-table.module.css";
import { SkeletonRows } from "./skeleton";
import { onRowKey, oneStop } from "./table-keys";

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});

const texts = new Intl.Collator(currentLanguage(), { numeric: true });

/** Numbers by their size, all else as people order texts: `node2` before `node10`. */
function byValue<Data extends RowData>(one: TableRow<typeof features, Data>, other: TableRow<typeof features, Data>, id: string): number {
  const [a, b]: unknown[] = [one.getValue(id), other.getValue(id)];
  return typeof a === "number" && typeof b === "number" ? a - b : texts.compare(String(a), String(b));
}

export interface Column<Row> {
  id: string;
  header: React.ReactNode;
  cell: (row: Row) => React.ReactNode;
  /** Makes the column sortable. Null sorts last. */
  sortValue?: (row: Row) => string | number | null;
  align?: "left" | "right";
  /** CSS width. */
  width?: string | number;
  /** Hidden below this viewport width. */
  hideBelow?: "sm" | "md" | "lg";
}

export interface DataTableProps<Row> {
  /** Accessible name of the table. */
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  /** `name` or `-name`; kept by the caller, in the URL. */
  sort?: string | undefined;
  onSort?: (sort: string | undefined) => void;
  onOpen?: (row: Row) => void;
  /** `x` on a row, as a click on its box does. */
  onTick?: ((row: Row) => void) | undefined;
  loading?: boolean;
  empty?: React.ReactNode;
  /** 28 px rows. */
  compact?: boolean;
  /** Name under which the person's choice of columns is kept; without it all are shown. What names a row always is. */
  choose?: string;
}

const NO_ROWS: never[] = [];

/** First click up, second down, third back to the server's order. */
function nextSort(id: string, sort: string | undefined): string | undefined {
  if (sort === id) return `-${id}`;
  return sort === `-${id}` ? undefined : id;
}

const WIDTHS = ["sm", "md", "lg"] as const;
/** The widest window in which one of them is hidden. */
function hiddenBelow<Row>(columns: readonly Column<Row>[]): (typeof WIDTHS)[number] | undefined {
  return WIDTHS.findLast((width) => columns.some((column) => column.hideBelow === width));
}

/** Whether a click means the row: not something to press in it, and not a menu or dialog of its own that lies elsewhere on the page. */
function meansRow(target: EventTarget, row: HTMLElement): boolean {
  if (!(target instanceof Element) || !row.contains(target)) return false;
  const pressed = target.closest("a, button, input, label");
  return pressed === null || !row.contains(pressed);
}

export function DataTable<Row extends RowData>(props: DataTableProps<Row>) {
  const { label, columns: all, rows, rowKey, sort, onSort, onOpen, onTick, loading, empty, compact, choose } = props;
  const choosable = optional(all);
  const choice = useColumnChoice(
    choose,
    choosable.map((column) => column.id),
  );
  const columns = choice.hidden.length === 0 ? all : all.filter((column) => !choice.hidden.includes(column.id));
  const menu = choose ? <ColumnMenu columns={choosable} {...choice} /> : null;
  // Above the actions where there are some, else in a column of its own.
  const actions = menu ? columns.find((column, index) => index === columns.length - 1 && typeof column.header !== "string") : undefined;
  const shape = columns.map((column) => column.id).join("|");
  const latest = useRef(columns);
  latest.current = columns;
  // why by id: callers write columns inline, and a new array each time would rebuild the row model on each render.
  const definitions = useMemo<ColumnDef<typeof features, Row>[]>(
    () =>
      shape.split("|").map((id) => ({
        id,
        accessorFn: (row: Row) => latest.current.find((column) => column.id === id)?.sortValue?.(row) ?? undefined,
        sortFn: byValue,
        sortUndefined: "last",
      })),
    [shape],
  );
  const sorting = useMemo(() => (sort ? [{ id: sort.replace(/^-/, ""), desc: sort.startsWith("-") }] : []), [sort]);
  const table = useTable({
    features,
    columns: definitions,
    data: rows ?? NO_ROWS,
    state: { sorting },
    getRowId: (row) => rowKey(row),
  });

  const element = useRef<HTMLTableElement>(null);
  // why after each: links and buttons of cells come and go with the rows.
  useLayoutEffect(() => {
    if (element.current) oneStop(element.current);
  });
  const [focused, setFocused] = useState<string>();
  const [detailed, setDetailed] = useState<readonly string[]>([]);
  const narrow = hiddenBelow(columns);
  const modelRows = table.getRowModel().rows;
  const stop = modelRows.find((row) => row.id === focused) ?? modelRows[0];

  if (loading && !rows) return <SkeletonRows rows={4} label={t`Loading ${label}`} />;
  if (rows && rows.length === 0 && empty) return <>{empty}</>;
  return (
    <div className={classes["scroll"]}>
      <table ref={element} className={`${classes["table"]} ${compact ? classes["compact"] : ""}`} aria-label={label}>
        <thead>
          <tr onKeyDown={(event) => onRowKey(event, { open: undefined, tick: undefined })}>
            {columns.map((column) => {
              const direction = sort === column.id ? "ascending" : sort === `-${column.id}` ? "descending" : undefined;
              const Chevron = direction === "descending" ? IconChevronDown : IconChevronUp;
              return (
                <th
                  key={column.id}
                  scope="col"
                  data-align={column.align}
                  data-hide={column.hideBelow}
                  style={column.width === undefined ? undefined : { width: column.width }}
                  aria-sort={direction}
                >
                  {column.sortValue && onSort ? (
                    <button type="button" className={classes["sort"]} onClick={() => onSort(nextSort(column.id, sort))}>
                      {column.header}
                      <Chevron size={13} aria-hidden className={direction ? undefined : classes["sortIdle"]} />
                    </button>
                  ) : (
                    column.header
                  )}
                  {column === actions ? menu : null}
                </th>
              );
            })}
            {menu && !actions ? (
              <th scope="col" className={classes["choose"]}>
                {menu}
              </th>
            ) : null}
            {narrow ? (
              <th scope="col" className={classes["more"]} data-narrow={narrow}>
                <span className="sr-only">{t`Further columns`}</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {modelRows.map((row) => {
            const { original } = row;
            const opened = detailed.includes(row.id);
            return (
              <Fragment key={row.id}>
                <tr
                  data-row=""
                  data-opens={onOpen ? "" : undefined}
                  tabIndex={row === stop ? 0 : -1}
                  onFocus={() => setFocused(row.id)}
                  onKeyDown={(event) =>
                    onRowKey(event, { open: onOpen && (() => onOpen(original)), tick: onTick && (() => onTick(original)) })
                  }
                  onClick={
                    onOpen
                      ? (event) => {
                          if (meansRow(event.target, event.currentTarget)) onOpen(original);
                        }
                      : undefined
                  }
                >
                  {columns.map((column) => (
                    <td key={column.id} data-align={column.align} data-hide={column.hideBelow}>
                      {column.cell(original)}
                    </td>
                  ))}
                  {menu && !actions ? <td aria-hidden /> : null}
                  {narrow ? (
                    <td className={classes["more"]} data-narrow={narrow}>
                      <button
                        type="button"
                        className={classes["detail"]}
                        aria-expanded={opened}
                        aria-label={t`Further columns of row ${modelRows.indexOf(row) + 1}`}
                        onClick={() => setDetailed(opened ? detailed.filter((id) => id !== row.id) : [...detailed, row.id])}
                      >
                        {opened ? <IconChevronDown size={15} aria-hidden /> : <IconChevronRight size={15} aria-hidden />}
                      </button>
                    </td>
                  ) : null}
                </tr>
                {narrow && opened ? (
                  <tr
                    data-detail=""
                    data-narrow={narrow}
                    onFocus={() => setFocused(row.id)}
                    onKeyDown={(event) => onRowKey(event, { open: undefined, tick: undefined })}
                  >
                    <td colSpan={columns.length + (menu && !actions ? 2 : 1)}>
                      <dl className={classes["further"]}>
                        {columns.map(({ id, header, hideBelow, cell }) =>
                          hideBelow ? (
                            <div key={id} data-narrow={hideBelow}>
                              <dt>{header}</dt>
                              <dd>{cell(original)}</dd>
                            </div>
                          ) : null,
                        )}
                      </dl>
                    </td>
                  </tr>
                ) : null}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
