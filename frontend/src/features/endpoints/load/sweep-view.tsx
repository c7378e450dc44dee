/** One sweep: its curve and its points, live while it is measured, an earlier one beside it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { isUnderWay } from "@/api/runs";
import { cancelSweep, sweepCsvPath, sweepQuery } from "@/api/sweeps";
import type { LoadSweep, LoadSweepPoint, LoadSweepSummary } from "@/api/types";
import { Card } from "@/components/card";
import { CopyField } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { count, duration, MISSING, significant, zonedTime } from "@/components/format";
import { DownloadButton } from "@/components/download-button";
import { LoadProblem } from "@/components/forbidden";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { Chip, Status } from "@/components/status";
import { LATENCIES, type Latency } from "./curve";
import { CurveChart } from "./curve-chart";
import classes from "./load.module.css";
import { errorsText, findings, levelText, levelTitle, rateText, sweepTitle } from "./words";

const time = (us: number | null) => (us === null ? MISSING : duration(us));

function columnsOf(sweep: LoadSweep): Column<LoadSweepPoint>[] {
  return [
    {
      id: "level",
      header: levelTitle(sweep.mode),
      cell: (row) => (
        <>
          <b>{levelText(row.level, sweep.mode)}</b>{" "}
          {row.level === sweep.knee ? (
            <Chip>
              <Trans>knee</Trans>
            </Chip>
          ) : null}{" "}
          {row.within_slo === false ? (
            <Chip tone="warn">
              <Trans>over the objective</Trans>
            </Chip>
          ) : null}
        </>
      ),
    },
    { id: "answers", header: t`Answers`, align: "right", cell: (row) => rateText(row.throughput) },
    { id: "p50", header: "p50", align: "right", hideBelow: "sm", cell: (row) => time(row.p50_us) },
    { id: "p90", header: "p90", align: "right", hideBelow: "lg", cell: (row) => time(row.p90_us) },
    { id: "p95", header: "p95", align: "right", cell: (row) => time(row.p95_us) },
    { id: "p99", header: "p99", align: "right", cell: (row) => time(row.p99_us) },
    {
      id: "failed",
      header: t`Failed`,
      align: "right",
      hideBelow: "sm",
      cell: (row) => <span title={errorsText(row)}>{row.failed > 0 ? count(row.failed) : MISSING}</span>,
    },
    {
      id: "batch",
      header: t`Batch`,
      align: "right",
      hideBelow: "md",
      cell: (row) => (row.batch === null ? MISSING : significant(row.batch)),
    },
    { id: "queue", header: t`Queue`, align: "right", hideBelow: "md", cell: (row) => time(row.queue_us) },
    { id: "compute", header: t`Compute`, align: "right", hideBelow: "md", cell: (row) => time(row.compute_us) },
  ];
}

export interface SweepViewProps {
  id: string;
  others: readonly LoadSweepSummary[];
  beside: string | undefined;
  onBeside: (id: string | undefined) => void;
}

export function SweepView({ id, others, beside, onBeside }: SweepViewProps) {
  const { data: sweep, error, refetch } = useQuery(sweepQuery(id));
  const earlier = useQuery({ ...sweepQuery(beside ?? ""), enabled: beside !== undefined && beside !== id }).data;
  const cancel = useMutation({ mutationFn: cancelSweep, onSettled: () => refetch() });
  const [chosen, setChosen] = useState<Latency | null>(null);
  if (error && !sweep) return <LoadProblem error={error} what={t`The sweep`} needs="read" onRetry={() => void refetch()} />;
  if (!sweep) return <SkeletonRows rows={4} label={t`Loading the sweep`} />;
  const latency = chosen ?? (sweep.slo_percentile === 99 ? "p99" : "p95");
  const measuring = isUnderWay(sweep);
  const choices = others.filter((one) => one.id !== id && one.measured > 0);
  return (
    <Card
      title={sweepTitle({ ...sweep, measured: sweep.points.length })}
      hint={t`${sweep.model} on ${sweep.node}, ${zonedTime(sweep.created_at)}, by ${sweep.created_by}`}
      actions={
        <>
          <Status state={sweep.state} />
          {measuring ? (
            <Button variant="default" size="compact-sm" loading={cancel.isPending} onClick={() => cancel.mutate(sweep.id)}>
              <Trans>Cancel</Trans>
            </Button>
          ) : (
            <>
              <Button component="a" href={sweepCsvPath(sweep.id)} download size="compact-xs" variant="subtle" color="gray">
                <Trans>CSV</Trans>
              </Button>
              <DownloadButton
                label="JSON"
                name={`sweep-${sweep.id}.json`}
                type="application/json"
                content={() => JSON.stringify(sweep, null, 2)}
              />
            </>
          )}
        </>
      }
      flush
    >
      {cancel.error ? <ProblemCard error={cancel.error} title={t`It could not be cancelled`} /> : null}
      {measuring ? (
        <p className={classes["said"]} role="status">
          {sweep.state === "Queued"
            ? t`Waiting for the agent of ${sweep.node}`
            : t`${sweep.points.length} of ${sweep.levels.length} points measured`}
        </p>
      ) : null}
      {sweep.error ? (
        <div className={classes["said"]} role="alert">
          <p>{sweep.error.message}</p>
          {sweep.error.detail ? <p className="secondary mono">{sweep.error.detail}</p> : null}
          {sweep.error.hints.map((hint) => (
            <p key={hint} className="secondary">
              {hint}
            </p>
          ))}
        </div>
      ) : null}
      {sweep.points.length > 0 ? (
        <>
          <div className={classes["said"]}>
            {findings(sweep).map((text) => (
              <p key={text}>{text}</p>
            ))}
            <div style={{ display: "flex", gap: 12, flexWrap: "wrap" }}>
              <Segmented
                label={t`Latency that is drawn`}
                value={latency}
                options={LATENCIES.map((one) => ({ value: one, label: one }))}
                onChange={setChosen}
              />
              {choices.length > 0 ? (
                <Select
                  aria-label={t`Compare with an earlier sweep`}
                  placeholder={t`Compare with an earlier sweep`}
                  w={330}
                  clearable
                  data={choices.map((one) => ({ value: one.id, label: `${zonedTime(one.created_at)}: ${sweepTitle(one)}` }))}
                  value={beside ?? null}
                  onChange={(value) => onBeside(value ?? undefined)}
                />
              ) : null}
            </div>
          </div>
          <CurveChart sweep={sweep} beside={earlier} latency={latency} />
        </>
      ) : null}
      <DataTable
        label={t`Points`}
        columns={columnsOf(sweep)}
        rows={sweep.points}
        rowKey={(row) => String(row.level)}
        compact
        empty={<EmptyState title={t`Nothing is measured yet`} />}
      />
      {earlier ? (
        <>
          <p className={classes["said"]}>
            <Trans>Dashed: {sweepTitle({ ...earlier, measured: earlier.points.length })}</Trans>
          </p>
          <DataTable
            label={t`Points of the earlier sweep`}
            columns={columnsOf(earlier)}
            rows={earlier.points}
            rowKey={(row) => String(row.level)}
            compact
          />
        </>
      ) : null}
      <div className={classes["said"]}>
        <CopyField text={sweep.perf_analyzer} label={t`equal command of perf_analyzer`} />
      </div>
    </Card>
  );
}
