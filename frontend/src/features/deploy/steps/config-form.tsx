/** The form beside the text: every change patches the text, every value is read back from it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { nodesQuery } from "@/api/nodes";
import { Card } from "@/components/card";
import { ToneIcon } from "@/components/status";
import type { InstanceKind } from "../config/config-fields";
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
import { quoted, removeAt, setAt } from "../config/pbtxt-edit";
import shared from "../deploy.module.css";
import classes from "./config-form.module.css";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { AdvancedSections } from "./advanced-sections";
import { errorAbout, originOf, type FormContext } from "./form-context";
import { Field, OriginBadge } from "./form-field";
import { ListInput } from "./list-input";
import { PipelineEditor } from "./pipeline-editor";
import { TensorFields } from "./tensor-fields";

export interface ConfigFormProps extends FormContext {
  /** Line that keeps the text from being read; the form is frozen until then. */
  brokenLine: number | null;
  name: { value: string; problem: string | null; note: string; locked: boolean; onChange: (name: string) => void };
}

const BACKENDS = ["onnxruntime", "pytorch", "python", "tensorflow", "openvino", "tensorrt", "fil"];

export function ConfigForm({ brokenLine, name, ...form }: ConfigFormProps) {
  const batched = (form.fields.maxBatchSize ?? form.model.maxBatchSize) > 0;
  const ensemble = form.fields.ensemble !== null;
  const others = form.fields.otherSettings;
  return (
    <Card flush>
      {brokenLine === null ? null : (
        <div className={classes["frozen"]} role="status">
          <ToneIcon tone="warn" label={t`Frozen`} />
          <Trans>Fix line {brokenLine} to use the form</Trans>
        </div>
      )}
      <fieldset className={classes["fieldset"]} disabled={brokenLine !== null}>
        <General form={form} name={name} />
        <TensorFields form={form} kind="input" batched={batched} />
        <TensorFields form={form} kind="output" batched={batched} />
        {ensemble ? null : (
          <>
            <Instances form={form} />
            <Batching form={form} />
          </>
        )}
        {ensemble ? <PipelineEditor form={form} /> : null}
        <AdvancedSections form={form} />
        {others.length > 0 ? (
          <div className={shared["section"]}>
            <div className={shared["sectionHead"]}>
              <h2>
                <Trans>Other settings</Trans>
              </h2>
            </div>
            <p className={shared["note"]} style={{ margin: 0 }}>
              {plural(others.length, {
                one: "# setting is not shown in the form and stays as written:",
                other: "# settings are not shown in the form and stay as written:",
              })}{" "}
              <span className="mono">{others.join(", ")}</span>
            </p>
          </div>
        ) : null}
      </fieldset>
    </Card>
  );
}

function General({ form, name }: { form: FormContext; name: ConfigFormProps["name"] }) {
  const { fields, start, model, text, onChange } = form;
  const backend = fields.backend ?? model.backend ?? model.platform;
  const known = backend && !BACKENDS.includes(backend) ? [backend, ...BACKENDS] : BACKENDS;
  return (
    <div className={shared["section"]}>
      <div className={shared["sectionHead"]}>
        <h2>
          <Trans>General</Trans>
        </h2>
      </div>
      <div className={shared["fields"]}>
        <div className={shared["field"]}>
          <span className={shared["fieldLabel"]} aria-hidden>
            <Trans>Model name</Trans>
          </span>
          <TextInput
            aria-label={t`Model name`}
            value={name.value}
            onChange={(event) => name.onChange(event.currentTarget.value)}
            error={name.problem}
            disabled={name.locked}
          />
          {name.problem === null ? <p className={shared["hint"]}>{name.note}</p> : null}
        </div>
        {fields.ensemble ? null : (
          <Field
            what={t`Backend`}
            origin={originOf(form, "backend", "backend")}
            onRestore={() =>
              onChange(start.backend === null ? removeAt(text, ["backend"]) : setAt(text, ["backend"], quoted(start.backend)))
            }
          >
            <Select
              aria-label={t`Backend`}
              data={known}
              value={backend || null}
              onChange={(next) => {
                if (next !== null) onChange(setAt(text, ["backend"], quoted(next)));
              }}
              error={errorAbout(form, "backend") ?? errorAbout(form, "platform")}
            />
          </Field>
        )}
        <Field
          what={t`Max batch size`}
          origin={originOf(form, "maxBatchSize", "max_batch_size")}
          onRestore={() =>
            onChange(start.maxBatchSize === null ? removeField(text, "max_batch_size") : setMaxBatchSize(text, start.maxBatchSize))
          }
        >
          <NumberInput
            aria-label={t`Max batch size`}
            value={fields.maxBatchSize ?? ""}
            placeholder={String(model.maxBatchSize)}
            min={0}
            allowDecimal={false}
            onChange={(value) => {
              if (typeof value === "number") onChange(setMaxBatchSize(text, value));
            }}
            error={errorAbout(form, "max_batch_size")}
          />
        </Field>
      </div>
    </div>
  );
}

const KINDS: { value: InstanceKind; label: string }[] = [
  { value: "KIND_AUTO", label: t`Auto` },
  { value: "KIND_GPU", label: "GPU" },
  { value: "KIND_CPU", label: "CPU" },
];

function Instances({ form }: { form: FormContext }) {
  const { fields, start, text, onChange } = form;
  return (
    <div className={shared["section"]}>
      <div className={shared["sectionHead"]}>
        <h2>
          <Trans>Instances</Trans>
        </h2>
      </div>
      {fields.instanceGroups > 1 ? (
        <p className={shared["hint"]}>
          <Trans>{fields.instanceGroups} instance groups are written in the text. Edit them there.</Trans>
        </p>
      ) : (
        <div className={shared["fields"]}>
          <Field
            what={t`Run on`}
            origin={originOf(form, "instanceKind", "instance_group")}
            onRestore={() => onChange(setInstanceKind(text, start.instanceKind))}
          >
            <SegmentedControl
              aria-label={t`Run on`}
              data={KINDS}
              value={fields.instanceKind}
              onChange={(kind) => onChange(setInstanceKind(text, kind))}
              disabled={form.disabled}
              style={{ alignSelf: "start", justifySelf: "start" }}
            />
          </Field>
          <Field
            what={t`Per device`}
            origin={originOf(form, "instanceCount", "instance_group")}
            onRestore={() => onChange(setInstanceCount(text, start.instanceCount ?? 1))}
          >
            <NumberInput
              aria-label={t`Instances per device`}
              value={fields.instanceCount ?? ""}
              placeholder="1"
              min={1}
              max={64}
              allowDecimal={false}
              onChange={(value) => {
                if (typeof value === "number" && value >= 1) onChange(setInstanceCount(text, value));
              }}
              error={errorAbout(form, "instance_group")}
            />
          </Field>
          {fields.instanceKind === "KIND_GPU" || fields.gpus.length > 0 ? <Gpus form={form} /> : null}
        </div>
      )}
    </div>
  );
}

/** Which of a node's GPUs; none chosen means all of them. */
function Gpus({ form }: { form: FormContext }) {
  const { fields, start, text, onChange } = form;
  const nodes = useQuery({ ...nodesQuery(), refetchInterval: false }).data?.items ?? [];
  const node = [...nodes].sort((a, b) => b.info.gpus.length - a.info.gpus.length)[0];
  const indices = [...new Set([...(node?.info.gpus.map((gpu) => gpu.index) ?? []), ...fields.gpus])].sort((a, b) => a - b);
  const write = (gpus: readonly number[]) =>
    onChange(
      gpus.length === 0
        ? removeAt(text, ["instance_group", 0, "gpus"])
        : setAt(text, ["instance_group", 0, "gpus"], `[ ${gpus.join(", ")} ]`),
    );
  return (
    <Field
      what={node && node.info.gpus.length > 0 ? t`GPUs on ${node.name}` : "GPUs"}
      origin={originOf(form, "gpus", "instance_group")}
      onRestore={() => write(start.gpus)}
    >
      {indices.length === 0 ? (
        <p className={shared["hint"]}>
          <Trans>No node has a GPU.</Trans>
        </p>
      ) : (
        <div className={classes["chips"]} role="group" aria-label="GPUs">
          {indices.map((index) => (
            <button
              key={index}
              type="button"
              className={classes["chip"]}
              aria-pressed={fields.gpus.includes(index)}
              onClick={() =>
                write(
                  fields.gpus.includes(index) ? fields.gpus.filter((one) => one !== index) : [...fields.gpus, index].sort((a, b) => a - b),
                )
              }
            >
              {index}
            </button>
          ))}
        </div>
      )}
    </Field>
  );
}

function Batching({ form }: { form: FormContext }) {
  const forgotten = useRef<string | null>(null);
  const { fields, start, text, onChange } = form;
  const toggle = (on: boolean) => {
    if (!on) forgotten.current = writtenField(text, "dynamic_batching");
    onChange(setDynamicBatching(text, on, forgotten.current));
  };
  return (
    <div className={shared["section"]}>
      <div className={shared["sectionHead"]}>
        <h2 id="dynamic-batching">
          <Trans>Dynamic batching</Trans>
        </h2>
        <Switch
          aria-labelledby="dynamic-batching"
          checked={fields.dynamicBatching}
          onChange={(event) => toggle(event.currentTarget.checked)}
        />
        <OriginBadge
          origin={originOf(form, "dynamicBatching", "dynamic_batching")}
          what={t`Dynamic batching`}
          onRestore={() => toggle(start.dynamicBatching)}
        />
      </div>
      {fields.dynamicBatching ? (
        <div className={shared["fields"]}>
          <Field
            what={t`Preferred batch sizes`}
            origin={originOf(form, "preferredBatchSizes", "dynamic_batching")}
            onRestore={() => onChange(setPreferredBatchSizes(text, start.preferredBatchSizes))}
          >
            <ListInput
              label={t`Preferred batch sizes`}
              value={fields.preferredBatchSizes}
              placeholder={t`any, up to the maximum`}
              onChange={(sizes) => onChange(setPreferredBatchSizes(text, sizes))}
              error={errorAbout(form, "preferred_batch_size")}
            />
          </Field>
          <Field
            what={t`Max queue delay`}
            origin={originOf(form, "maxQueueDelayMicroseconds", "dynamic_batching")}
            onRestore={() => onChange(setMaxQueueDelay(text, start.maxQueueDelayMicroseconds))}
          >
            <NumberInput
              aria-label={t`Max queue delay in microseconds`}
              value={fields.maxQueueDelayMicroseconds ?? ""}
              placeholder="0 µs"
              suffix={"\u202fµs"}
              {...DIGIT_GROUPS}
              min={0}
              step={100}
              allowDecimal={false}
              onChange={(value) => onChange(setMaxQueueDelay(text, typeof value === "number" ? value : null))}
              error={errorAbout(form, "max_queue_delay")}
            />
          </Field>
          <Switch
            label={t`Answers in the order of requests`}
            checked={fields.preserveOrdering}
            onChange={(event) =>
              onChange(
                event.currentTarget.checked
                  ? setAt(text, ["dynamic_batching", "preserve_ordering"], "true")
                  : removeAt(text, ["dynamic_batching", "preserve_ordering"]),
              )
            }
          />
        </div>
      ) : (
        <p className={shared["hint"]}>
          <Trans>Requests run one by one. Switch it on to join waiting requests into one batch.</Trans>
        </p>
      )}
    </div>
  );
}
