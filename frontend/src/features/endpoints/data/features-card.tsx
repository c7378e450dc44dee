/** Each input and output: its values in the window beside the baseline, and whether it has moved. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { statisticsQuery } from "@/api/capture";
import type { CaptureFeature, CaptureStatistics, Deployment } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { count, MISSING, significant, fixed } from "@/components/format";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import { BaselineActions } from "./baseline-actions";
import { Bars } from "./bars";
import classes from "./data.module.css";
import { byVerdict, featureName, missingText, rangeText, VERDICT_TONES, VERDICT_WORDS } from "./words";

const COLUMNS: Column<CaptureFeature>[] = [
  { id: "name", header: t`Feature`, cell: (row) => <b>{featureName(row)}</b> },
  {
    id: "verdict",
    header: t`Verdict`,
    cell: (row) => <Status state={VERDICT_WORDS[row.verdict]} tone={VERDICT_TONES[row.verdict]} title={row.told} />,
  },
  { id: "bars", header: t`Values`, cell: (row) => <Bars feature={row} /> },
  { id: "psi", header: "PSI", align: "right", hideBelow: "sm", cell: (row) => (row.psi === null ? MISSING : fixed(row.psi, 3)) },
  {
    id: "ks",
    header: t`KS p`,
    align: "right",
    hideBelow: "md",
    cell: (row) => (row.p_value === null ? MISSING : row.p_value < 0.001 ? `< ${fixed(0.001, 3)}` : fixed(row.p_value, 3)),
  },
  { id: "range", header: t`Range`, align: "right", hideBelow: "md", cell: rangeText },
  {
    id: "mean",
    header: t`Mean`,
    align: "right",
    hideBelow: "lg",
    cell: (row) => (row.now && row.now.mean !== null ? significant(row.now.mean) : MISSING),
  },
  { id: "missing", header: t`Missing`, align: "right", hideBelow: "lg", cell: missingText },
  { id: "rows", header: t`Rows`, align: "right", hideBelow: "sm", cell: (row) => count(row.now?.rows ?? 0) },
];

function hintOf(found: CaptureStatistics): string {
  const requests = plural(found.records, { one: "# request", other: "# requests" });
  const hours = plural(found.hours, { one: "# hour", other: "# hours" });
  const dropped = found.dropped > 0 ? t`, ${count(found.dropped)} dropped` : "";
  if (!found.baseline) return t`${requests} captured in ${hours}` + dropped;
  return t`${requests} captured${dropped}; the last ${hours} against the baseline of ${found.baseline.source}`;
}

/** Where what is compared is less, or something else, than one may think. */
function remarks({ left_out, baseline, hours }: CaptureStatistics): string[] {
  const told: string[] = [];
  if (left_out > 0) {
    told.push(t`${plural(left_out, { one: "# more request is", other: "# more requests are" })} the baseline's own, and left out.`);
  }
  if (baseline && baseline.window_hours !== hours) {
    told.push(t`The alert of drift looks at the last ${plural(baseline.window_hours, { one: "# hour", other: "# hours" })}.`);
  }
  return told;
}

export function FeaturesCard({ endpoint, deployment, hours }: { endpoint: string; deployment: Deployment; hours: number | undefined }) {
  const { data, error, refetch } = useQuery(statisticsQuery(endpoint, deployment.name, hours));
  if (error && !data) return <LoadProblem error={error} what={t`The data`} needs="deploy" onRetry={() => void refetch()} />;
  return (
    <Card
      title={t`Inputs and outputs`}
      className={classes["card"] ?? ""}
      hint={data ? hintOf(data) : undefined}
      flush
      actions={
        data ? <BaselineActions endpoint={endpoint} deployment={deployment.name} hours={data.hours} baseline={data.baseline} /> : undefined
      }
    >
      {data ? (
        <>
          <DataTable
            label={t`Inputs and outputs of ${deployment.name}`}
            columns={COLUMNS}
            rows={byVerdict(data.features)}
            rowKey={(row) => `${row.collection}/${row.name}`}
            compact
            empty={
              <EmptyState
                title={data.capturing ? t`Nothing was captured in this time` : t`This deployment captures nothing`}
                detail={
                  data.capturing
                    ? t`Statistics are there some seconds after requests are.`
                    : t`\`capture:\` in its file says what share of the requests is kept, and which inputs and outputs.`
                }
              />
            }
          />
          {remarks(data).map((told) => (
            <p key={told} className={classes["legend"] ?? ""}>
              {told}
            </p>
          ))}
          {data.features.length > 0 ? (
            <p className={`${classes["legend"] ?? ""} muted`}>
              <span>
                <Trans>Bars: now. Line: the baseline.</Trans>
              </span>
              <span>
                <Trans>PSI from 0.1 on is moderate, from 0.25 on drift, where it is no chance.</Trans>
              </span>
              {data.untold_features > 0 ? (
                <span>
                  {plural(data.untold_features, { one: "# more feature is not counted.", other: "# more features are not counted." })}
                </span>
              ) : null}
            </p>
          ) : null}
        </>
      ) : (
        <SkeletonRows rows={4} label={t`Loading the data`} />
      )}
    </Card>
  );
}
