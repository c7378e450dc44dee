/** The latest rollout of an endpoint: its steps, both versions' figures, what it waits for, and what may be done about it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { abortRollout, isUnderWay, latestRolloutQuery, pauseRollout, promoteRollout, resumeRollout } from "@/api/rollouts";
import type { Rollout, RolloutFigure } from "@/api/types";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { count, duration, MISSING, percent } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { Status } from "@/components/status";
import { type Step, Stepper } from "@/components/stepper";
import { Time } from "@/components/time";
import { useEvents } from "@/live/hooks";
import { serverText } from "@/i18n/server-text";
import { ComparedInputs } from "./compared-inputs";
import { isShown, neededText, sharesText, STAGE_STATES, stageTitle, sure, TONES } from "./rollout";
import classes from "./rollout-card.module.css";

const compared = (bad: number, of: number) => t`${of === 0 ? MISSING : percent(bad / of)} (${count(bad)} of ${count(of)})`;

const own = ({ counts, bad, of }: RolloutFigure) => {
  if (counts === "percent") return of === 0 ? MISSING : `${bad} %`;
  if (counts === "replicas") return t`${count(bad)} in ${plural(of, { one: "# replica", other: "# replicas" })}`;
  return counts === "cases" ? t`${count(bad)} of ${count(of)}` : compared(bad, of);
};

/** The stable version is not asked golden cases: they say what is right. */
const stable = ({ counts, stable_bad: bad, stable_of: of }: RolloutFigure) => {
  if (counts === "percent") return of === 0 ? MISSING : `${bad} %`;
  if (counts === "windows") return MISSING;
  if (counts === "replicas") return t`${count(bad)} in ${plural(of, { one: "# replica", other: "# replicas" })}`;
  return counts === "cases" ? MISSING : compared(bad, of);
};

const COLUMNS: Column<RolloutFigure>[] = [
  { id: "title", header: t`Guardrail`, cell: (row) => row.title },
  { id: "candidate", header: t`Candidate`, align: "right", cell: own },
  { id: "stable", header: t`Stable`, align: "right", cell: stable },
  { id: "confidence", header: t`Worse with`, align: "right", cell: (row) => sure(row.confidence) },
  {
    id: "needed",
    header: t`Withdrawn at`,
    align: "right",
    hideBelow: "md",
    cell: neededText,
  },
];

function stepsOf(rollout: Rollout): Step[] {
  return rollout.stages.map((stage) => ({
    id: stageTitle(stage),
    title: stageTitle(stage),
    hint: stage.started_at ? plural(stage.requests, { one: "# request", other: "# requests" }) : "",
    state: STAGE_STATES[stage.status],
  }));
}

function Latencies({ rollout }: { rollout: Rollout }) {
  const known = rollout.latency.filter((one) => one.candidate_us !== null && one.stable_us !== null);
  if (known.length === 0) return null;
  const texts = known.map((one) => t`p${Math.round(one.quantile * 100)} ${duration(one.candidate_us)}, stable ${duration(one.stable_us)}`);
  return <p className="secondary">{texts.join("; ")}</p>;
}

function Actions({ rollout }: { rollout: Rollout }) {
  const queryClient = useQueryClient();
  const [asking, setAsking] = useState<"promote" | "abort" | null>(null);
  const paused = rollout.state === "Paused";
  const shown = (changed: Rollout) => {
    queryClient.setQueryData(keys.endpoints.rollout(rollout.endpoint), changed);
    void queryClient.invalidateQueries({ queryKey: keys.endpoints.one(rollout.endpoint) });
  };
  const hold = useMutation({ mutationFn: () => (paused ? resumeRollout(rollout) : pauseRollout(rollout)), onSuccess: shown });
  const before = sharesText(rollout.previous_traffic);
  return (
    <>
      {hold.error ? <ProblemCard error={hold.error} title={paused ? t`It was not resumed` : t`It was not paused`} /> : null}
      <div className={classes["actions"]}>
        <RefusingButton needs="deploy" variant="default" disabled={hold.isPending} onClick={() => hold.mutate()}>
          {paused ? t`Resume` : t`Pause`}
        </RefusingButton>
        <RefusingButton needs="deploy" variant="default" onClick={() => setAsking("promote")}>
          <Trans>Promote</Trans>
        </RefusingButton>
        <RefusingButton needs="deploy" variant="default" color="red" onClick={() => setAsking("abort")}>
          <Trans>Abort</Trans>
        </RefusingButton>
      </div>
      <ConfirmModal
        opened={asking === "promote"}
        onClose={() => setAsking(null)}
        title={t`Promote ${rollout.deployment}`}
        confirmLabel={t`Give ${rollout.deployment} 100 %`}
        onConfirm={async () => shown(await promoteRollout(rollout))}
      >
        <p>
          <Trans>{rollout.deployment} gets all of the traffic now, whatever steps are left. Nothing watches it any more.</Trans>
        </p>
      </ConfirmModal>
      <ConfirmModal
        opened={asking === "abort"}
        onClose={() => setAsking(null)}
        title={t`Abort the rollout`}
        confirmLabel={t`Back to ${before}`}
        danger
        onConfirm={async () => shown(await abortRollout(rollout))}
      >
        <p>
          <Trans>The traffic is as it was before: {before}. The deployment stays.</Trans>
        </p>
      </ConfirmModal>
    </>
  );
}

export function RolloutCard({ endpoint }: { endpoint: string }) {
  const { data: rollout, error, refetch } = useQuery(latestRolloutQuery(endpoint));
  useEvents((event) => {
    if (event.subject === `endpoint/${endpoint}` && event.verb.startsWith("rollout.")) void refetch();
  });
  if (error) return <ProblemCard error={error} title={t`The rollout could not be loaded`} onRetry={() => void refetch()} />;
  if (!rollout || !isShown(rollout)) return null;
  const underWay = isUnderWay(rollout);
  return (
    <Card
      title={t`Rollout of ${rollout.deployment}`}
      hint={
        underWay ? (
          <>
            <Trans>
              {rollout.percent} % of the traffic, begun by {rollout.created_by} <Time at={rollout.created_at} />
            </Trans>
          </>
        ) : (
          <>
            <Trans>
              ended <Time at={rollout.finished_at} />
            </Trans>
          </>
        )
      }
      actions={<Status state={rollout.state} tone={TONES[rollout.state]} />}
      flush
      className={classes["card"] ?? ""}
    >
      <div className={classes["body"]}>
        <Stepper steps={stepsOf(rollout)} label={t`Steps of the rollout of ${rollout.deployment}`} />
        <p role="status" className={classes["reason"]}>
          {serverText(rollout.reason) || t`Not judged yet.`}
        </p>
        <Latencies rollout={rollout} />
        {underWay && !rollout.answers_checked ? (
          <p className="secondary">
            <Trans>
              Nothing looks at what {rollout.deployment} answers: it has no golden cases, and no inputs are compared. Wrong answers would be
              promoted.
            </Trans>
          </p>
        ) : null}
        {underWay ? <Actions rollout={rollout} /> : null}
      </div>
      {rollout.figures.length > 0 ? (
        <DataTable label={t`Guardrails`} columns={COLUMNS} rows={rollout.figures} rowKey={(row) => row.measure} compact />
      ) : null}
      <ComparedInputs rollout={rollout} />
    </Card>
  );
}
