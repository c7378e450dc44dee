/** The answer to the call in view: outputs, or what went wrong. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Loader } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import type { ConsoleModel } from "@/api/types";
import { Card } from "@/components/card";
import { bytes } from "@/components/format";
import { Chip, ToneIcon } from "@/components/status";
import { shapeText } from "@/inference/tensor/shape";
import classes from "./result-panel.module.css";
import { Overlay } from "../overlay/overlay-card";
import { OutputView } from "./output-view";
import { labelsOf } from "./labels";
import type { CallRecord } from "./outcome";
import { StreamView } from "./stream-view";

export interface ResultPanelProps {
  record: CallRecord | null;
  model: ConsoleModel | null;
  /** Sends what that call sent once more. */
  onRetry: (record: CallRecord) => void;
}

function sentLine({ sent }: CallRecord): string {
  const [only] = sent;
  if (only && sent.length === 1) return t`sent ${shapeText(only.shape)}, ${only.datatype}, ${bytes(only.bytes)}`;
  return t`sent ${plural(sent.length, { one: "# input", other: "# inputs" })}, ${bytes(sent.reduce((sum, input) => sum + input.bytes, 0))}`;
}

const answeredBy = (deployment: string, version: string) => [deployment, version ? t`version ${version}` : ""].filter(Boolean).join(", ");

export function ResultPanel({ record, model, onRetry }: ResultPanelProps) {
  const outcome = record?.outcome ?? null;
  return (
    <Card
      title={t`Result`}
      hint={record ? sentLine(record) : undefined}
      actions={outcome?.kind === "result" ? <Chip>{answeredBy(outcome.deployment, outcome.modelVersion)}</Chip> : undefined}
      flush
    >
      {record === null ? (
        <div className={classes["waiting"]}>
          <Trans>Fill in the inputs and press Send. The answer appears here.</Trans>
        </div>
      ) : null}
      {record && outcome === null && record.parts.length === 0 ? (
        <div className={classes["waiting"]} role="status">
          <Loader size="sm" aria-hidden />
          <Trans>Waiting for the answer</Trans>
        </div>
      ) : null}
      {record && record.parts.length > 0 ? (
        <StreamView key={record.id} parts={record.parts} model={model} running={outcome === null} />
      ) : null}
      {record && outcome?.kind === "result" && outcome.responses === 0 ? (
        <div className={classes["waiting"]}>
          <Trans>The model ended the call without a response.</Trans>
        </div>
      ) : null}
      {record && outcome?.kind === "result" ? <Overlay key={`overlay ${record.id}`} record={record} model={model} /> : null}
      {record && outcome?.kind === "result"
        ? outcome.outputs.map((output) => (
            <OutputView key={`${record.id} ${output.name}`} output={output} labels={labelsOf(model, output.name)} of={record.model} />
          ))
        : null}
      {record && outcome && outcome.kind !== "result" ? (
        <div className={classes["problem"]} role="alert">
          <ToneIcon
            tone={outcome.kind === "error" ? "error" : outcome.kind === "lost" ? "warn" : "idle"}
            label={outcome.kind === "error" ? t`Error` : outcome.kind === "lost" ? t`Unknown` : t`Stopped`}
            size={18}
          />
          {outcome.kind === "cancelled" ? (
            <div>
              <p className={classes["problemTitle"]}>
                <Trans>Stopped</Trans>
              </p>
              <p className="muted">
                <Trans>The call was cancelled on the server; what had come before is above.</Trans>
              </p>
            </div>
          ) : outcome.kind === "lost" ? (
            <div>
              <p className={classes["problemTitle"]}>{outcome.sent ? t`Sent, result unknown` : t`Not sent`}</p>
              <p className="muted">
                {outcome.sent
                  ? t`The connection was lost while the call was on its way. It may or may not have run.`
                  : t`There was no connection. Nothing was sent.`}
              </p>
            </div>
          ) : (
            <div>
              <p className={classes["problemTitle"]}>{outcome.message}</p>
              <p className="secondary">
                <span className="mono">{outcome.code}</span>
                {outcome.status === null ? "" : t` · status ${outcome.status}`}
              </p>
            </div>
          )}
          <Button variant="default" leftSection={<IconRefresh size={15} aria-hidden />} onClick={() => onRetry(record)}>
            <Trans>Send again</Trans>
          </Button>
          {outcome.kind === "error" && outcome.triton !== null && outcome.triton !== outcome.message ? (
            <pre className={classes["verbatim"]} tabIndex={0} role="region" aria-label={t`Verbatim answer`}>
              {outcome.triton}
            </pre>
          ) : null}
        </div>
      ) : null}
    </Card>
  );
}
