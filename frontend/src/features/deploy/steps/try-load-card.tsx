/** Load it on a node and unload it again, before anything is registered: the last doubt of the configure step. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconFlask2 } from "@tabler/icons-react";
import type { TryLoad } from "@/api/placement";
import { Card } from "@/components/card";
import { bytes, seconds } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { ToneIcon } from "@/components/status";
import { type Culprit, culpritOf } from "../config/culprit";
import classes from "../deploy.module.css";
import type { TryLoadControl } from "./use-try-load";

export interface TryLoadCardProps {
  trying: TryLoadControl;
  /** What each model's text is now. */
  models: readonly { name: string; text: string }[];
  blocked: boolean;
  onGoTo: (culprit: Culprit) => void;
}

export function TryLoadCard({ trying, models, blocked, onGoTo }: TryLoadCardProps) {
  const { trial, running, failure } = trying;
  return (
    <Card
      title={t`Try load`}
      hint={t`on a node, unloaded again afterwards`}
      actions={
        running ? (
          <Button variant="default" onClick={trying.cancel} loading={trying.canceling} disabled={!trial}>
            <Trans>Cancel</Trans>
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconFlask2 size={15} aria-hidden />}
            disabled={blocked}
            onClick={() => trying.start(false)}
          >
            <Trans>Try load</Trans>
          </Button>
        )
      }
      flush
    >
      {failure ? <ProblemCard error={failure} title={t`It could not be tried`} /> : null}
      {running ? (
        <div className={classes["problemRow"]} role="status">
          <ToneIcon tone="info" label={t`Trying`} />
          <span>{stateOf(trial)}</span>
        </div>
      ) : trial ? (
        <Outcome trial={trial} models={models} onGoTo={onGoTo} />
      ) : null}
    </Card>
  );
}

/** How far it is. */
export const stateOf = (trial: TryLoad | undefined): string =>
  trial ? `${trial.node}: ${trial.phase || (trial.state === "Queued" ? t`queued` : t`running`)}` : t`Choosing a node`;

function Outcome({ trial, models, onGoTo }: { trial: TryLoad } & Pick<TryLoadCardProps, "models" | "onGoTo">) {
  const { error } = trial;
  if (trial.state === "Succeeded") {
    return (
      <div className={classes["problemRow"]} role="status">
        <ToneIcon tone="ok" label={t`It loads`} />
        <span>
          <Trans>
            It loads on {trial.node} in {seconds(trial.load_seconds)} and takes {bytes(trial.memory_bytes)} of memory.
          </Trans>
        </span>
      </div>
    );
  }
  const culprit = culpritOf(`${error?.message ?? ""}\n${error?.detail ?? ""}`, models);
  return (
    <div className={classes["problemRow"]} role="alert">
      <ToneIcon tone={error ? "error" : "idle"} label={trial.state === "Canceled" ? t`Canceled` : t`Failed`} />
      <div className={classes["stack"]} style={{ gap: 6 }}>
        <div className={classes["problemMessage"]}>{error ? error.message : t`It was canceled.`}</div>
        {error?.detail ? (
          <pre className={classes["verbatim"]} tabIndex={0} role="region" aria-label={t`What the runtime said`}>
            {error.detail}
          </pre>
        ) : null}
        {error?.hints.map((hint) => (
          <div key={hint} className={classes["problemHint"]}>
            {hint}
          </div>
        ))}
        {culprit === null ? null : (
          <button type="button" className={classes["place"]} onClick={() => onGoTo(culprit)}>
            {models.length > 1 ? t`line ${culprit.line} of ${culprit.repo}` : t`line ${culprit.line}`}
          </button>
        )}
      </div>
    </div>
  );
}
