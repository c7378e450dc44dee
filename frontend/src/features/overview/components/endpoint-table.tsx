/** The endpoints with what they do right now; the course of the requests is remembered while the page is open. */
import { t } from "@lingui/core/macro";
import { Link, useNavigate } from "@tanstack/react-router";
import type { Overview } from "@/api/types";
import { paths } from "@/app/paths";
import { Sparkline } from "@/components/charts/sparkline";
import { type Column, DataTable } from "@/components/data-table";
import { Num } from "@/components/num";
import { Status } from "@/components/status";
import { TrafficBar } from "@/components/traffic-bar";
import { METRICS, metricParts } from "@/metrics/registry";
import { useRequestRates } from "../hooks/use-request-rates";
import classes from "./endpoint-table.module.css";

type Row = Overview["endpoints"][number];

export function EndpointTable({ endpoints }: { endpoints: readonly Row[] }) {
  const navigate = useNavigate();
  const rates = useRequestRates(endpoints);
  const columns: Column<Row>[] = [
    {
      id: "name",
      header: t`Name`,
      cell: (row) => (
        <>
          <Link {...paths.endpoint(row.name)} className={classes["name"]}>
            {row.name}
          </Link>
          <div className="secondary truncate">
            {row.models
              .map((item) => `${item.name} v${item.version}`)
              .filter((text, index, all) => all.indexOf(text) === index)
              .join(", ") || t`no model`}
          </div>
        </>
      ),
    },
    { id: "status", header: t`Status`, cell: (row) => <Status state={row.serving_state} /> },
    {
      id: "rate",
      header: METRICS.request_rate.title,
      align: "right",
      cell: (row) => <Num parts={metricParts("request_rate", row.live.request_rate)} />,
    },
    {
      id: "course",
      header: t`Last 5 min`,
      width: 130,
      hideBelow: "lg",
      cell: (row) => <Sparkline values={rates.get(row.name) ?? []} label={t`Requests of ${row.name}, recent course`} />,
    },
    { id: "p95", header: METRICS.p95_us.label, align: "right", cell: (row) => <Num parts={metricParts("p95_us", row.live.p95_us)} /> },
    {
      id: "errors",
      header: METRICS.error_rate.title,
      align: "right",
      hideBelow: "sm",
      cell: (row) => (
        <span data-bad={(row.live.error_rate ?? 0) > 0.01 ? "" : undefined} className={classes["errors"]}>
          <Num parts={metricParts("error_rate", row.live.error_rate)} />
        </span>
      ),
    },
    { id: "traffic", header: t`Traffic`, width: 170, hideBelow: "md", cell: (row) => <TrafficBar thin traffic={row.traffic} /> },
  ];
  return (
    <DataTable
      label={t`Endpoints`}
      columns={columns}
      rows={endpoints}
      rowKey={(row) => row.name}
      onOpen={(row) => void navigate(paths.endpoint(row.name))}
    />
  );
}
