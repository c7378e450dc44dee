/** Each input and output: its values in the window beside the baseline, and whether it has moved. */
import { useQuery } from "@tanstack/react-query";
import { statisticsQuery } from "@/api/capture";
import type { CaptureFeature, CaptureStatistics, Deployment } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { count, counted, MISSING, significant } from "@/components/format";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import { BaselineActions } from "./baseline-actions";
import { Bars } from "./bars";
import classes from "./data.module.css";
import { byVerdict, featureName, missingText, rangeText, VERDICT_TONES, VERDICT_WORDS } from "./words";

const COLUMNS: Column<CaptureFeature>[] = [
  { id: "name", header: "Feature", cell: (row) => <b>{featureName(row)}</b> },
  {
    id: "verdict",
    header: "Verdict",
    cell: (row) => <Status state={VERDICT_WORDS[row.verdict]} tone={VERDICT_TONES[row.verdict]} title={row.told} />,
  },
  { id: "bars", header: "Values", cell: (row) => <Bars feature={row} /> },
  { id: "psi", header: "PSI", align: "right", hideBelow: "sm", cell: (row) => (row.psi === null ? MISSING : row.psi.toFixed(3)) },
  {
    id: "ks",
    header: "KS p",
    align: "right",
    hideBelow: "md",
    cell: (row) => (row.p_value === null ? MISSING : row.p_value < 0.001 ? "< 0.001" : row.p_value.toFixed(3)),
  },
  { id: "range", header: "Range", align: "right", hideBelow: "md", cell: rangeText },
  {
    id: "mean",
    header: "Mean",
    align: "right",
    hideBelow: "lg",
    cell: (row) => (row.now && row.now.mean !== null ? significant(row.now.mean) : MISSING),
  },
  { id: "missing", header: "Missing", align: "right", hideBelow: "lg", cell: missingText },
  { id: "rows", header: "Rows", align: "right", hideBelow: "sm", cell: (row) => count(row.now?.rows ?? 0) },
];

function hintOf(found: CaptureStatistics): string {
  const captured = `${counted(found.records, "request")} captured in ${counted(found.hours, "hour")}`;
  const dropped = found.dropped > 0 ? `, ${count(found.dropped)} dropped` : "";
  return found.baseline ? `${captured}${dropped}; compared with ${found.baseline.source}` : `${captured}${dropped}`;
}

export function FeaturesCard({ endpoint, deployment, hours }: { endpoint: string; deployment: Deployment; hours: number }) {
  const { data, error, refetch } = useQuery(statisticsQuery(endpoint, deployment.name, hours));
  if (error && !data) return <LoadProblem error={error} what="The data" needs="deploy" onRetry={() => void refetch()} />;
  return (
    <Card
      title="Inputs and outputs"
      className={classes["card"] ?? ""}
      hint={data ? hintOf(data) : undefined}
      flush
      actions={
        data ? (
          <BaselineActions endpoint={endpoint} deployment={deployment.name} hours={hours} exists={data.baseline !== null} />
        ) : undefined
      }
    >
      {data ? (
        <>
          <DataTable
            label={`Inputs and outputs of ${deployment.name}`}
            columns={COLUMNS}
            rows={byVerdict(data.features)}
            rowKey={(row) => `${row.collection}/${row.name}`}
            compact
            empty={
              <EmptyState
                title={data.capturing ? "Nothing was captured in this time" : "This deployment captures nothing"}
                detail={
                  data.capturing
                    ? "Statistics are there some seconds after requests are."
                    : "`capture:` in its file says what share of the requests is kept, and which inputs and outputs."
                }
              />
            }
          />
          {data.features.length > 0 ? (
            <p className={`${classes["legend"] ?? ""} muted`}>
              <span>Bars: now. Line: the baseline.</span>
              <span>PSI from 0.1 on is moderate, from 0.25 on drift, where it is no chance.</span>
              {data.untold_features > 0 ? <span>{counted(data.untold_features, "more feature")} are not counted.</span> : null}
            </p>
          ) : null}
        </>
      ) : (
        <SkeletonRows rows={4} label="Loading the data" />
      )}
    </Card>
  );
}
