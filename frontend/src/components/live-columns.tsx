/** What callers get from endpoints right now, as columns of their lists: requests, latency and errors of the last seconds, all at the gateway. */
import type { components } from "@/api/schema";
import type { Column } from "@/components/data-table";
import { METRICS, metricParts } from "@/metrics/registry";
import classes from "./live-columns.module.css";
import { Num } from "./num";

export type LiveFigures = components["schemas"]["Live"];

const BAD_SHARE = 0.01;

/** In this order: rate, p95, errors. `of`: nothing for a row of which nothing is known yet. */
export function liveColumns<Row>(of: (row: Row) => LiveFigures | undefined): [Column<Row>, Column<Row>, Column<Row>] {
  return [
    {
      id: "rate",
      header: METRICS.answer_rate.title,
      align: "right",
      cell: (row) => <Num parts={metricParts("answer_rate", of(row)?.answer_rate ?? null)} />,
    },
    {
      id: "p95",
      header: METRICS.p95_us.label,
      align: "right",
      hideBelow: "sm",
      cell: (row) => <Num parts={metricParts("p95_us", of(row)?.p95_us ?? null)} />,
    },
    {
      id: "errors",
      header: METRICS.error_rate.title,
      align: "right",
      hideBelow: "sm",
      cell: (row) => (
        <span data-bad={(of(row)?.error_rate ?? 0) > BAD_SHARE ? "" : undefined} className={classes["errors"]}>
          <Num parts={metricParts("error_rate", of(row)?.error_rate ?? null)} />
        </span>
      ),
    },
  ];
}
