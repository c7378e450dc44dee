/** Load it on a node and unload it again, before anything is registered: the last doubt of the configure step. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconFlask2 } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { cancelTryLoad, isTried, startTryLoad, tryLoadQuery, type TryLoad } from "@/api/placement";
import { Card } from "@/components/card";
import { bytes, seconds } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { ToneIcon } from "@/components/status";
import { changedConfigs, type DeploySource } from "../config/source";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { lineIn } from "../config/raw-line";

export interface TryLoadCardProps {
  source: DeploySource;
  form: Pick<DraftForm, "texts" | "instanceType">;
  blocked: boolean;
  onGoTo: (line: number) => void;
}

export function TryLoadCard({ source, form, blocked, onGoTo }: TryLoadCardProps) {
  const [id, setId] = useState<string | null>(null);
  const start = useMutation({
    mutationFn: () => {
      const target = source.registered
        ? {
            model: source.registered.model,
            version: String(source.registered.version),
            ...(source.registered.revision === null ? {} : { config_revision: source.registered.revision }),
          }
        : { upload_id: source.uploadId ?? "" };
      return startTryLoad({ ...target, configs: changedConfigs(source.models, form.texts), instance_type: form.instanceType });
    },
    onSuccess: (trial) => setId(trial.id),
  });
  const cancel = useMutation({ mutationFn: cancelTryLoad });
  const trial = useQuery({ ...tryLoadQuery(id ?? ""), enabled: id !== null }).data;
  const running = start.isPending || (id !== null && (!trial || !isTried(trial)));
  return (
    <Card
      title={t`Try load`}
      hint={t`on a node, unloaded again afterwards`}
      actions={
        running && id !== null ? (
          <Button variant="default" onClick={() => cancel.mutate(id)} loading={cancel.isPending}>
            <Trans>Cancel</Trans>
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconFlask2 size={15} aria-hidden />}
            disabled={blocked}
            loading={running}
            onClick={() => start.mutate()}
          >
            <Trans>Try load</Trans>
          </Button>
        )
      }
      flush
    >
      {start.error ? <ProblemCard error={start.error} title={t`It could not be tried`} /> : null}
      {running ? (
        <div className={classes["problemRow"]} role="status">
          <ToneIcon tone="info" label={t`Trying`} />
          <span>{trial ? `${trial.node}: ${trial.phase || (trial.state === "Queued" ? t`queued` : t`running`)}` : t`Choosing a node`}</span>
        </div>
      ) : trial ? (
        <Outcome trial={trial} onGoTo={onGoTo} />
      ) : null}
    </Card>
  );
}

function Outcome({ trial, onGoTo }: { trial: TryLoad; onGoTo: (line: number) => void }) {
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
  const line = lineIn(`${error?.message ?? ""}\n${error?.detail ?? ""}`);
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
        {line === null ? null : (
          <button type="button" className={classes["place"]} onClick={() => onGoTo(line)}>
            <Trans>line {line}</Trans>
          </button>
        )}
      </div>
    </div>
  );
}
