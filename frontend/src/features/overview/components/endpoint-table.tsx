/** The endpoints with what they do right now; the course of the requests is remembered while the page is open. */
import { t } from "@lingui/core/macro";
import { Link, useNavigate } from "@tanstack/react-router";
import type { Overview } from "@/api/types";
import { paths } from "@/app/paths";
import { Sparkline } from "@/components/charts/sparkline";
import { type Column, DataTable } from "@/components/data-table";
import { liveColumns } from "@/components/live-columns";
import { Status } from "@/components/status";
import { TrafficBar } from "@/components/traffic-bar";
import { useRequestRates } from "../hooks/use-request-rates";
import classes from "./endpoint-table.module.css";

type Row = Overview["endpoints"][number];

export function EndpointTable({ endpoints }: { endpoints: readonly Row[] }) {
  const navigate = useNavigate();
  const rates = useRequestRates(endpoints);
  const [rate, p95, errors] = liveColumns<Row>((row) => row.live);
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
    rate,
    {
      id: "course",
      header: t`Last 5 min`,
      width: 130,
      hideBelow: "lg",
      cell: (row) => <Sparkline values={rates.get(row.name) ?? []} label={t`Requests of ${row.name}, recent course`} />,
    },
    p95,
    errors,
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
