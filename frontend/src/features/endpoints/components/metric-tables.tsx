/** What charts say badly: the batch sizes that ran, and how long versions took to load. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { seconds } from "@/components/format";
import { Chip } from "@/components/status";
import { useSeriesKeys } from "@/live/hooks";
import { batchSizes } from "@/live/metric-keys";
import { paced } from "@/live/paced";
import type { Series } from "@/live/series";
import { METRICS, metricText } from "@/metrics/registry";
import { type BatchRow, batchTable, type BatchTable } from "../batch-table";
import { type LoadTime, loadTimes } from "../load-times";
import { DeploymentName } from "./deployments-card";
import classes from "./metric-tables.module.css";

const EVERY_MS = 2_000;

const BATCHES: Column<BatchRow>[] = [
  { id: "size", header: t`Size`, cell: (row) => row.size },
  { id: "executions", header: t`Executions`, align: "right", cell: (row) => metricText("batch", row.executions) },
  { id: "inferences", header: t`Inferences`, align: "right", cell: (row) => metricText("batch", row.inferences) },
  { id: "compute", header: t`Compute`, align: "right", cell: (row) => metricText("batch_us", row.compute) },
  {
    id: "item",
    header: t`Per item`,
    align: "right",
    cell: (row) => (
      <>
        {row.best ? (
          <Chip tone="ok">
            <Trans>least</Trans>
          </Chip>
        ) : null}{" "}
        {metricText("batch_us", row.perItem)}
      </>
    ),
  },
];

/** Means over what is shown, taken anew every two seconds. */
function useBatchTable(series: Series, range: number): BatchTable {
  const sizes = batchSizes(useSeriesKeys(series)).join(",");
  const [found, setFound] = useState<BatchTable>({ rows: [], mean: null });
  useEffect(
    () =>
      paced(series, EVERY_MS, () => {
        const { ring } = series;
        const from = ring.firstIndex(ring.lastTime - range);
        setFound(batchTable(sizes === "" ? [] : sizes.split(",").map(Number), ring.readTimes(from), (key) => ring.read(key, from)));
      }),
    [series, sizes, range],
  );
  return found;
}

function BatchTableCard({ series, range }: { series: Series; range: number }) {
  const { rows, mean } = useBatchTable(series, range);
  return (
    <Card
      flush
      title={t`Batches that ran`}
      hint={mean === null ? t`in the time shown` : t`${METRICS.mean_batch.label} ${metricText("mean_batch", mean)}, in the time shown`}
    >
      <DataTable
        compact
        label={t`Batches that ran`}
        columns={BATCHES}
        rows={rows}
        rowKey={(row) => String(row.size)}
        empty={
          <p className={classes["none"]}>
            <Trans>Nothing was executed in the time shown.</Trans>
          </p>
        }
      />
    </Card>
  );
}

function LoadTimesCard({ endpoint }: { endpoint: Endpoint }) {
  const names = endpoint.deployments.map((deployment) => deployment.name);
  const columns: Column<LoadTime>[] = [
    { id: "deployment", header: t`Deployment`, cell: (row) => <DeploymentName name={row.deployment} all={names} /> },
    {
      id: "version",
      header: t`Version`,
      cell: (row) => (
        <Link {...paths.modelVersion(row.model, row.version)} className="link">
          {row.model} v{row.version}
        </Link>
      ),
    },
    { id: "replicas", header: t`Replicas`, align: "right", hideBelow: "sm", cell: (row) => row.replicas },
    { id: "mean", header: t`Mean`, align: "right", cell: (row) => seconds(row.mean) },
    { id: "slowest", header: t`Slowest`, align: "right", cell: (row) => seconds(row.slowest) },
  ];
  return (
    <Card flush title={t`Load time`} hint={t`from the start of the process until its models were ready`}>
      <DataTable
        compact
        label={t`Load time by version`}
        columns={columns}
        rows={loadTimes(endpoint)}
        rowKey={(row) => row.deployment}
        empty={
          <p className={classes["none"]}>
            <Trans>No replica has loaded its model yet.</Trans>
          </p>
        }
      />
    </Card>
  );
}

export function MetricTables({ endpoint, series, range }: { endpoint: Endpoint; series: Series; range: number }) {
  return (
    <div className={classes["tables"]}>
      <BatchTableCard series={series} range={range} />
      <LoadTimesCard endpoint={endpoint} />
    </div>
  );
}
