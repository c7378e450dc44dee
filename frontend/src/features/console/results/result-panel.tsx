/** The answer to the call in view: outputs, or what went wrong. */
import { Button, Loader } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import type { ConsoleModel } from "@/api/types";
import { Card } from "@/components/card";
import { bytes } from "@/components/format";
import { Chip, ToneIcon } from "@/components/status";
import { shapeText } from "../tensor/shape";
import classes from "../console.module.css";
import { OutputView } from "./output-view";
import type { CallRecord } from "./outcome";

export interface ResultPanelProps {
  record: CallRecord | null;
  model: ConsoleModel | null;
  onRetry: () => void;
}

function labelsOf(model: ConsoleModel | null, output: string): readonly string[] | null {
  return model?.labels?.[output] ?? model?.outputs.find((tensor) => tensor.name === output)?.labels ?? null;
}

function sentLine({ sent }: CallRecord): string {
  const [only] = sent;
  if (only && sent.length === 1) return `sent ${shapeText(only.shape)}, ${only.datatype}, ${bytes(only.bytes)}`;
  return `sent ${sent.length} inputs, ${bytes(sent.reduce((sum, input) => sum + input.bytes, 0))}`;
}

const answeredBy = (deployment: string, version: string) =>
  [deployment, version ? `version ${version}` : ""].filter(Boolean).join(", ");

export function ResultPanel({ record, model, onRetry }: ResultPanelProps) {
  const outcome = record?.outcome ?? null;
  return (
    <Card
      title="Result"
      hint={record ? sentLine(record) : undefined}
      actions={
        outcome?.kind === "result" ? <Chip>{answeredBy(outcome.deployment, outcome.modelVersion)}</Chip> : undefined
      }
      flush
    >
      {record === null ? (
        <div className={classes["waiting"]}>Fill in the inputs and press Send. The answer appears here.</div>
      ) : outcome === null ? (
        <div className={classes["waiting"]} role="status">
          <Loader size="sm" aria-hidden />
          Waiting for the answer
        </div>
      ) : outcome.kind === "result" ? (
        outcome.outputs.map((output) => (
          <OutputView key={`${record.id} ${output.name}`} output={output} labels={labelsOf(model, output.name)} />
        ))
      ) : (
        <div className={classes["problem"]} role="alert">
          <ToneIcon
            tone={outcome.kind === "lost" ? "warn" : "error"}
            label={outcome.kind === "lost" ? "Unknown" : "Error"}
            size={18}
          />
          {outcome.kind === "lost" ? (
            <div>
              <p className={classes["problemTitle"]}>{outcome.sent ? "Sent, result unknown" : "Not sent"}</p>
              <p className="muted">
                {outcome.sent
                  ? "The connection was lost while the call was on its way. It may or may not have run."
                  : "There was no connection. Nothing was sent."}
              </p>
            </div>
          ) : (
            <div>
              <p className={classes["problemTitle"]}>{outcome.message}</p>
              <p className="secondary">
                <span className="mono">{outcome.code}</span>
                {outcome.status === null ? "" : ` · status ${outcome.status}`}
              </p>
            </div>
          )}
          <Button variant="default" leftSection={<IconRefresh size={15} aria-hidden />} onClick={onRetry}>
            Send again
          </Button>
          {outcome.kind === "error" && outcome.triton !== null && outcome.triton !== outcome.message ? (
            <pre className={classes["verbatim"]} tabIndex={0} role="region" aria-label="Verbatim answer">
              {outcome.triton}
            </pre>
          ) : null}
        </div>
      )}
    </Card>
  );
}
