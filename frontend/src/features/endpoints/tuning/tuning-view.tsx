/** One tuning: what is measured now and why, the frontier, the table, and the way from the one to take to the deployment. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { isUnderWay } from "@/api/runs";
import { cancelTuning, tuningQuery } from "@/api/tunings";
import type { Deployment, Tuning, TuningRun, TuningSetting } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { DownloadButton } from "@/components/download-button";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { count, duration, joined, MISSING, zonedTime } from "@/components/format";
import { Meter } from "@/components/meter";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { SkeletonRows } from "@/components/skeleton";
import { Chip, Status } from "@/components/status";
import load from "../load/load.module.css";
import { rateText } from "../load/words";
import { FrontierChart } from "./frontier-chart";
import { TakeIt } from "./take-it";
import classes from "./tuning.module.css";
import { findings, memoryText, percentileOf, progressText, sameSetting, settingKey, tuningTitle } from "./words";

function columnsOf(tuning: Tuning): Column<TuningRun>[] {
  return [
    {
      id: "instances",
      header: t`Instances`,
      cell: (row) => (
        <span title={row.reason} style={{ whiteSpace: "nowrap" }}>
          <b>{count(row.setting.instances)}</b>{" "}
          {row.chosen ? (
            <Chip tone="ok">
              <Trans>chosen</Trans>
            </Chip>
          ) : null}{" "}
          {sameSetting(row.setting, tuning.now) ? (
            <Chip>
              <Trans>today</Trans>
            </Chip>
          ) : null}
        </span>
      ),
    },
    { id: "batch", header: t`Batch`, align: "right", cell: (row) => (row.setting.batch === 0 ? MISSING : count(row.setting.batch)) },
    {
      id: "delay",
      header: t`Delay`,
      align: "right",
      cell: (row) => (row.setting.batch > 1 ? joined({ value: count(row.setting.delay_us), unit: "µs" }) : MISSING),
    },
    {
      id: "answers",
      header: t`Answers`,
      align: "right",
      cell: (row) => (row.throughput === null ? MISSING : rateText(row.throughput)),
    },
    {
      id: "latency",
      header: percentileOf(tuning),
      align: "right",
      cell: (row) => (row.latency_us === null ? MISSING : duration(row.latency_us)),
    },
    { id: "memory", header: t`Memory`, align: "right", cell: memoryText },
    {
      id: "within",
      header: t`Objective`,
      cell: (row) => {
        if (row.error) return <Chip tone="error">{row.error.message}</Chip>;
        return row.within ? (
          t`holds`
        ) : (
          <Chip tone="warn">
            <Trans>over the objective</Trans>
          </Chip>
        );
      },
    },
    { id: "frontier", header: t`Frontier`, hideBelow: "md", cell: (row) => (row.frontier ? t`on it` : MISSING) },
    { id: "why", header: t`Why measured`, hideBelow: "lg", cell: (row) => <span className="secondary">{row.reason}</span> },
  ];
}

export function TuningView({ id, deployment }: { id: string; deployment: Deployment }) {
  const { data: tuning, error, refetch } = useQuery(tuningQuery(id));
  const cancel = useMutation({ mutationFn: cancelTuning, onSettled: () => refetch() });
  const [picked, setPicked] = useState<TuningSetting>();
  if (error && !tuning) return <LoadProblem error={error} what={t`The tuning`} needs="read" onRetry={() => void refetch()} />;
  if (!tuning) return <SkeletonRows rows={4} label={t`Loading the tuning`} />;
  const running = isUnderWay(tuning);
  const chosen = tuning.runs.find((run) => run.chosen);
  const selected = tuning.runs.find((run) => picked && sameSetting(run.setting, picked)) ?? chosen;
  const select = (setting: TuningSetting) => setPicked(setting);
  return (
    <Card
      title={tuningTitle(tuning)}
      hint={t`${tuning.model} on ${tuning.node}, ${zonedTime(tuning.created_at)}, by ${tuning.created_by}`}
      actions={
        <>
          <Status state={tuning.state} />
          {running ? (
            <RefusingButton
              needs="deploy"
              variant="default"
              size="compact-sm"
              loading={cancel.isPending}
              onClick={() => cancel.mutate(tuning.id)}
            >
              <Trans>Cancel</Trans>
            </RefusingButton>
          ) : (
            <DownloadButton
              label="JSON"
              name={`tuning-${tuning.id}.json`}
              type="application/json"
              content={() => JSON.stringify(tuning, null, 2)}
            />
          )}
        </>
      }
      flush
    >
      {cancel.error ? <ProblemCard error={cancel.error} title={t`It could not be cancelled`} /> : null}
      {running ? (
        <div className={load["said"]} role="status">
          <div className={classes["bar"]}>
            <Meter
              label={t`Measured`}
              share={tuning.measured / tuning.budget}
              text={t`${tuning.measured} of at most ${tuning.budget}`}
              part
            />
          </div>
          <p>{progressText(tuning)}</p>
          {tuning.current?.reason ? (
            <p className="secondary">
              <Trans>Why: {tuning.current.reason}</Trans>
            </p>
          ) : null}
        </div>
      ) : null}
      {tuning.error ? (
        <div className={load["said"]} role="alert">
          <p>{tuning.error.message}</p>
          {tuning.error.detail ? <p className="secondary mono">{tuning.error.detail}</p> : null}
          {tuning.error.hints.map((hint) => (
            <p key={hint} className="secondary">
              {hint}
            </p>
          ))}
        </div>
      ) : null}
      {tuning.runs.length > 0 ? (
        <>
          <div className={load["said"]}>
            {findings(tuning).map((text) => (
              <p key={text}>{text}</p>
            ))}
            {running ? null : <TakeIt tuning={tuning} run={selected} deployment={deployment} />}
          </div>
          <FrontierChart tuning={tuning} selected={selected?.setting} onSelect={select} />
          <p className={`${load["said"]} secondary`}>
            <Trans>
              Filled and joined: the frontier, which no other beats in both answers and latency, with the memory of each where there is
              room. Square: what ran when the search began.
            </Trans>
          </p>
        </>
      ) : null}
      <DataTable
        label={t`Configurations that were measured`}
        columns={columnsOf(tuning)}
        rows={tuning.runs}
        rowKey={(row) => settingKey(row.setting)}
        onOpen={(row) => select(row.setting)}
        compact
        empty={<EmptyState title={t`Nothing is measured yet`} />}
      />
    </Card>
  );
}
