/** Answers of several deployments to one call, side by side, with how each differs from the first. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { CloseButton } from "@mantine/core";
import { useMemo } from "react";
import type { ConsoleModel } from "@/api/types";
import { Card } from "@/components/card";
import { count, duration, MISSING, significant } from "@/components/format";
import { Status, ToneIcon } from "@/components/status";
import { OutputView } from "../results/output-view";
import { labelsOf } from "../results/labels";
import { HeatMap } from "../results/tensor-views";
import classes from "./both-card.module.css";
import { type Answered, changeOf, type OutputChange, outputsOf, problemOf } from "./compare";

export interface BothCardProps {
  answers: readonly Answered[];
  model: ConsoleModel;
  busy: boolean;
  onClose: () => void;
}

function words({ difference, label }: OutputChange): string {
  if (difference.reason !== null) return difference.reason;
  const { largest } = difference;
  const differing = count(difference.count - difference.equal);
  const all = count(difference.count);
  const values =
    largest === null
      ? t`${differing} of ${all} values differ`
      : t`${differing} of ${all} values differ, by ${significant(largest)} at most`;
  return [values, label].filter(Boolean).join("; ");
}

function Change({ change }: { change: OutputChange }) {
  const { difference, texts, distance } = change;
  const same = difference.reason === null && difference.equal === difference.count;
  return (
    <div className={classes["change"]}>
      <Status state={same ? t`equal` : t`differs`} tone={same ? "ok" : "warn"} plain /> {same ? null : <span>{words(change)}</span>}
      {texts.map((parts, index) => (
        <p key={index} className={classes["text"]}>
          {parts.map((part, at) => (part.changed ? <mark key={at}>{part.text}</mark> : <span key={at}>{part.text}</span>))}
        </p>
      ))}
      {distance ? <HeatMap tensor={distance} /> : null}
    </div>
  );
}

function Column({ answer, first, model }: { answer: Answered; first: Answered; model: ConsoleModel }) {
  const { outcome } = answer;
  const outputs = outputsOf(answer);
  const problem = problemOf(answer);
  const changes = useMemo(
    () => (answer === first ? [] : outputsOf(answer).map((output) => changeOf(outputsOf(first), output, labelsOf(model, output.name)))),
    [answer, first, model],
  );
  const gone = answer === first ? [] : outputsOf(first).filter((output) => !outputs.some((other) => other.name === output.name));
  return (
    <section className={classes["column"]} aria-label={t`Answer of ${answer.to}`}>
      <header className={classes["head"]}>
        <h3>{answer.to}</h3>
        {outcome.kind === "result" ? (
          <span className="secondary">
            <Trans>
              {outcome.deployment === answer.to ? "" : `${outcome.deployment}, `}
              {duration(outcome.timing.total_us)}, of that the model{" "}
              {outcome.timing.compute_infer_us === null ? MISSING : duration(outcome.timing.compute_infer_us)}
            </Trans>
          </span>
        ) : null}
      </header>
      {problem === null ? null : (
        <p className={classes["problem"]} role="alert">
          <ToneIcon tone="error" label={t`Error`} /> {problem}
        </p>
      )}
      {outputs.map((output, index) => (
        <div key={output.name}>
          {changes[index] ? <Change change={changes[index]} /> : null}
          <OutputView output={output} labels={labelsOf(model, output.name)} of={model.name} by={answer.to} />
        </div>
      ))}
      {problem === null && outputsOf(first).length > 0
        ? gone.map((output) => (
            <p key={output.name} className={classes["change"]}>
              <Status state={t`missing`} tone="warn" plain /> <Trans>{output.name} was not answered</Trans>
            </p>
          ))
        : null}
    </section>
  );
}

export function BothCard({ answers, model, busy, onClose }: BothCardProps) {
  const [first] = answers;
  if (!first) return null;
  return (
    <Card
      title={t`Side by side`}
      hint={busy ? t`waiting for the next answer` : t`compared with ${first.to}; sent one after the other`}
      actions={<CloseButton aria-label={t`Close the comparison`} onClick={onClose} />}
      flush
    >
      <div className={classes["columns"]}>
        {answers.map((answer) => (
          <Column key={answer.to} answer={answer} first={first} model={model} />
        ))}
      </div>
    </Card>
  );
}
