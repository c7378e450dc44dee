/** The form beside the text: every change patches the text, every value is read back from it. */
import { NumberInput, SegmentedControl, Switch, TextInput } from "@mantine/core";
import { useRef } from "react";
import type { ConfigProblem } from "@/api/types";
import { Card } from "@/components/card";
import { ToneIcon } from "@/components/status";
import type { ConfigFields, InstanceKind } from "../config/config-fields";
import {
  removeField,
  setDynamicBatching,
  setInstanceCount,
  setInstanceKind,
  setMaxBatchSize,
  setMaxQueueDelay,
  setPreferredBatchSizes,
  writtenField,
} from "../config/config-patch";
import type { Origin, SourceModel } from "../config/source";
import classes from "../deploy.module.css";
import { ListInput } from "./list-input";
import { TensorTable } from "./tensor-table";

export interface ConfigFormProps {
  model: SourceModel;
  text: string;
  fields: ConfigFields;
  /** The same fields of the text as it started. */
  start: ConfigFields;
  problems: readonly ConfigProblem[];
  /** Line that keeps the text from being read; the form is frozen until then. */
  brokenLine: number | null;
  name: { value: string; problem: string | null; note: string; locked: boolean; onChange: (name: string) => void };
  onChange: (text: string) => void;
}

const KINDS: { value: InstanceKind; label: string }[] = [
  { value: "KIND_AUTO", label: "Auto" },
  { value: "KIND_GPU", label: "GPU" },
  { value: "KIND_CPU", label: "CPU" },
];

const ORIGIN_WORDS: Record<Origin | "you", string> = {
  model: "from model",
  default: "default",
  config: "from file",
  you: "you",
};

interface OriginBadgeProps {
  origin: Origin | "you";
  what: string;
  onRestore?: () => void;
}

function OriginBadge({ origin, what, onRestore }: OriginBadgeProps) {
  if (origin !== "you" || !onRestore) {
    return (
      <span className={classes["origin"]} data-origin={origin}>
        {ORIGIN_WORDS[origin]}
      </span>
    );
  }
  return (
    <button
      type="button"
      className={classes["origin"]}
      data-origin="you"
      onClick={onRestore}
      title="Restore what it was"
      aria-label={`${what} is set by you. Restore`}
    >
      you
    </button>
  );
}

interface FieldProps extends OriginBadgeProps {
  children: React.ReactNode;
}

function Field({ what, origin, onRestore, children }: FieldProps) {
  return (
    <div className={classes["field"]}>
      <span className={classes["fieldLabel"]}>
        <span aria-hidden>{what}</span>
        <OriginBadge origin={origin} what={what} {...(onRestore ? { onRestore } : {})} />
      </span>
      {children}
    </div>
  );
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export function ConfigForm({
  model,
  text,
  fields,
  start,
  problems,
  brokenLine,
  name,
  onChange,
}: ConfigFormProps) {
  const forgotten = useRef<string | null>(null);
  const origin = (key: keyof ConfigFields, source: string): Origin | "you" =>
    same(fields[key], start[key])
      ? (model.provenance[source] ?? (start[key] === null || !model.written ? "default" : "config"))
      : "you";
  const wrong = (field: string) =>
    problems.find((problem) => problem.severity === "error" && problem.field?.includes(field))?.message;
  const toggleBatching = (on: boolean) => {
    if (!on) forgotten.current = writtenField(text, "dynamic_batching");
    onChange(setDynamicBatching(text, on, forgotten.current));
  };
  const batched = (fields.maxBatchSize ?? model.maxBatchSize) > 0;
  return (
    <Card flush>
      {brokenLine === null ? null : (
        <div className={classes["frozen"]} role="status">
          <ToneIcon tone="warn" label="Frozen" />
          Fix line {brokenLine} to use the form
        </div>
      )}
      <div className={classes["section"]}>
        <div className={classes["sectionHead"]}>
          <h2>General</h2>
        </div>
        <div className={classes["fields"]}>
          <div className={classes["field"]}>
            <span className={classes["fieldLabel"]} aria-hidden>
              Model name
            </span>
            <TextInput
              aria-label="Model name"
              value={name.value}
              onChange={(event) => name.onChange(event.currentTarget.value)}
              error={name.problem}
              disabled={name.locked}
            />
            {name.problem === null ? <p className={classes["hint"]}>{name.note}</p> : null}
          </div>
          <Field what="Backend" origin={model.provenance["backend"] ?? "model"}>
            <TextInput aria-label="Backend" value={model.backend || model.platform} readOnly variant="filled" />
          </Field>
          <fieldset className={classes["fieldset"]} disabled={brokenLine !== null}>
            <Field
              what="Max batch size"
              origin={origin("maxBatchSize", "max_batch_size")}
              onRestore={() =>
                onChange(
                  start.maxBatchSize === null
                    ? removeField(text, "max_batch_size")
                    : setMaxBatchSize(text, start.maxBatchSize),
                )
              }
            >
              <NumberInput
                aria-label="Max batch size"
                value={fields.maxBatchSize ?? ""}
                placeholder={String(model.maxBatchSize)}
                min={0}
                allowDecimal={false}
                onChange={(value) => {
                  if (typeof value === "number") onChange(setMaxBatchSize(text, value));
                }}
                error={wrong("max_batch_size")}
              />
            </Field>
          </fieldset>
        </div>
      </div>
      <div className={classes["section"]} style={{ paddingInline: 0, paddingBottom: 4 }}>
        <div className={classes["sectionHead"]} style={{ padding: "0 12px", marginBottom: 2 }}>
          <h2>Inputs</h2>
          <OriginBadge origin={model.provenance["inputs"] ?? "model"} what="Inputs" />
        </div>
        <TensorTable tensors={model.inputs} caption="Inputs" batched={batched} />
      </div>
      <div className={classes["section"]} style={{ paddingInline: 0, paddingBottom: 4 }}>
        <div className={classes["sectionHead"]} style={{ padding: "0 12px", marginBottom: 2 }}>
          <h2>Outputs</h2>
          <OriginBadge origin={model.provenance["outputs"] ?? "model"} what="Outputs" />
        </div>
        <TensorTable tensors={model.outputs} caption="Outputs" batched={batched} />
      </div>
      <fieldset className={classes["fieldset"]} disabled={brokenLine !== null}>
        <div className={classes["section"]} style={{ borderTop: "1px solid var(--line)" }}>
          <div className={classes["sectionHead"]}>
            <h2>Instances</h2>
          </div>
          {fields.instanceGroups > 1 ? (
            <p className={classes["hint"]}>
              {fields.instanceGroups} instance groups are written in the text. Edit them there.
            </p>
          ) : (
            <div className={classes["fields"]}>
              <Field
                what="Run on"
                origin={origin("instanceKind", "instance_group")}
                onRestore={() => onChange(setInstanceKind(text, start.instanceKind))}
              >
                <SegmentedControl
                  aria-label="Run on"
                  data={KINDS}
                  value={fields.instanceKind}
                  onChange={(kind) => onChange(setInstanceKind(text, kind))}
                  disabled={brokenLine !== null}
                  style={{ alignSelf: "start", justifySelf: "start" }}
                />
              </Field>
              <Field
                what="Per device"
                origin={origin("instanceCount", "instance_group")}
                onRestore={() =>
                  onChange(
                    start.instanceCount === null
                      ? setInstanceCount(text, 1)
                      : setInstanceCount(text, start.instanceCount),
                  )
                }
              >
                <NumberInput
                  aria-label="Instances per device"
                  value={fields.instanceCount ?? ""}
                  placeholder="1"
                  min={1}
                  max={64}
                  allowDecimal={false}
                  onChange={(value) => {
                    if (typeof value === "number" && value >= 1) onChange(setInstanceCount(text, value));
                  }}
                  error={wrong("instance_group")}
                />
              </Field>
            </div>
          )}
        </div>
        <div className={classes["section"]}>
          <div className={classes["sectionHead"]}>
            <h2 id="dynamic-batching">Dynamic batching</h2>
            <Switch
              aria-labelledby="dynamic-batching"
              checked={fields.dynamicBatching}
              onChange={(event) => toggleBatching(event.currentTarget.checked)}
            />
            <OriginBadge
              origin={origin("dynamicBatching", "dynamic_batching")}
              what="Dynamic batching"
              onRestore={() => toggleBatching(start.dynamicBatching)}
            />
          </div>
          {fields.dynamicBatching ? (
            <div className={classes["fields"]}>
              <Field
                what="Preferred batch sizes"
                origin={origin("preferredBatchSizes", "dynamic_batching")}
                onRestore={() => onChange(setPreferredBatchSizes(text, start.preferredBatchSizes))}
              >
                <ListInput
                  label="Preferred batch sizes"
                  value={fields.preferredBatchSizes}
                  placeholder="any, up to the maximum"
                  onChange={(sizes) => onChange(setPreferredBatchSizes(text, sizes))}
                  error={wrong("preferred_batch_size")}
                />
              </Field>
              <Field
                what="Max queue delay"
                origin={origin("maxQueueDelayMicroseconds", "dynamic_batching")}
                onRestore={() => onChange(setMaxQueueDelay(text, start.maxQueueDelayMicroseconds))}
              >
                <NumberInput
                  aria-label="Max queue delay in microseconds"
                  value={fields.maxQueueDelayMicroseconds ?? ""}
                  placeholder="0 µs"
                  suffix={"\u202fµs"}
                  thousandSeparator=","
                  min={0}
                  step={100}
                  allowDecimal={false}
                  onChange={(value) => onChange(setMaxQueueDelay(text, typeof value === "number" ? value : null))}
                  error={wrong("max_queue_delay")}
                />
              </Field>
            </div>
          ) : (
            <p className={classes["hint"]}>
              Requests run one by one. Switch it on to join waiting requests into one batch.
            </p>
          )}
          {fields.otherSettings.length > 0 ? (
            <p className={classes["note"]}>
              Not in the form, kept as written: <span className="mono">{fields.otherSettings.join(", ")}</span>
            </p>
          ) : null}
        </div>
      </fieldset>
    </Card>
  );
}
