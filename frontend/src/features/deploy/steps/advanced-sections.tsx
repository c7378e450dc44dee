/** What few models need, folded away: each section says in its head how it stands. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, NumberInput, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { count } from "@/components/format";
import { addMessage, quoted, removeAt, removeMessage, setAt } from "../config/pbtxt-edit";
import { setWarmup } from "../config/warmup";
import shared from "../deploy.module.css";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { FoldedSection } from "./folded-section";
import { originOf, type FormContext } from "./form-context";
import { OriginBadge } from "./form-field";
import { ListInput } from "./list-input";
import { QueueSection } from "./queue-section";

export function AdvancedSections({ form }: { form: FormContext }) {
  return (
    <>
      <QueueSection form={form} />
      <Optimization form={form} />
      <Warmup form={form} />
      <VersionPolicySection form={form} />
      <ResponseCache form={form} />
      <SequenceBatching form={form} />
      <Parameters form={form} />
    </>
  );
}

function Optimization({ form }: { form: FormContext }) {
  const { graphLevel, accelerators } = form.fields;
  const LEVELS = [
    { value: "", label: t`The backend's own` },
    { value: "-1", label: t`None (-1)` },
    { value: "0", label: t`Basic (0)` },
    { value: "1", label: t`Extended (1)` },
    { value: "2", label: t`All (2)` },
  ];
  const places = [
    { value: "none", label: t`None` },
    { value: "tensorrt", label: "TensorRT" },
    { value: "openvino", label: "OpenVINO" },
  ];
  const accelerate = (name: string) => {
    const bare = removeAt(form.text, ["optimization", "execution_accelerators"]);
    if (name === "none") return form.onChange(bare);
    const place = name === "tensorrt" ? "gpu" : "cpu";
    form.onChange(setAt(bare, ["optimization", "execution_accelerators", `${place}_execution_accelerator`, "name"], quoted(name)));
  };
  const state = [graphLevel === null ? null : t`graph level ${graphLevel}`, ...accelerators].filter(Boolean).join(", ");
  return (
    <FoldedSection title={t`Optimisation`} state={state || t`the backend's own`}>
      <div className={shared["fields"]}>
        <Select
          label={t`Graph optimisation level`}
          data={LEVELS}
          value={graphLevel === null ? "" : String(graphLevel)}
          onChange={(level) =>
            form.onChange(
              level ? setAt(form.text, ["optimization", "graph", "level"], level) : removeAt(form.text, ["optimization", "graph"]),
            )
          }
        />
        <Select
          label={t`Accelerator of ONNX Runtime`}
          data={places}
          value={accelerators[0] ?? "none"}
          onChange={(name) => accelerate(name ?? "none")}
        />
      </div>
    </FoldedSection>
  );
}

function Warmup({ form }: { form: FormContext }) {
  const { warmups, inputs, maxBatchSize } = form.fields;
  const fixed = inputs.every((input) => input.dims.every((dim) => dim > 0));
  const add = () => form.onChange(setWarmup(form.text, inputs, Math.max(1, maxBatchSize ?? 0)));
  return (
    <FoldedSection
      title={t`Warm-up`}
      state={warmups.length === 0 ? t`none: the first requests are slower` : t`${warmups.length} of zeros or data`}
    >
      {warmups.map((warmup, index) => (
        <div key={index} className={shared["pair"]}>
          <span className="mono truncate">{warmup.name || t`without a name`}</span>
          <span className="secondary">
            <Trans>
              batch of {warmup.batchSize || 1}, {plural(warmup.inputs, { one: "# input", other: "# inputs" })}
            </Trans>
          </span>
          <ActionIcon
            aria-label={t`Remove the warm-up ${warmup.name}`}
            onClick={() => form.onChange(removeMessage(form.text, "model_warmup", index))}
          >
            <IconTrash size={16} stroke={1.7} />
          </ActionIcon>
        </div>
      ))}
      <Button variant="default" leftSection={<IconPlus size={15} />} disabled={inputs.length === 0} onClick={add}>
        <Trans>Add one with zeros</Trans>
      </Button>
      {fixed ? null : (
        <p className={shared["hint"]}>
          <Trans>Variable axes get the size 1; change it in the text.</Trans>
        </p>
      )}
    </FoldedSection>
  );
}

function VersionPolicySection({ form }: { form: FormContext }) {
  const policy = form.fields.versionPolicy;
  const kind = policy?.kind ?? "default";
  const choose = (next: string) => {
    const bare = removeAt(form.text, ["version_policy"]);
    if (next === "default") return form.onChange(bare);
    const newest = String(Math.max(1, ...form.model.versions));
    const texts: Record<string, string> = {
      latest: "version_policy { latest { num_versions: 1 } }",
      all: "version_policy { all { } }",
      specific: `version_policy { specific { versions: [ ${newest} ] } }`,
    };
    form.onChange(`${bare.trimEnd()}\n\n${texts[next]}\n`);
  };
  const words =
    policy === null
      ? t`the newest version`
      : policy.kind === "all"
        ? t`all versions`
        : policy.kind === "latest"
          ? t`the newest ${policy.count}`
          : t`versions ${policy.versions.join(", ")}`;
  return (
    <FoldedSection
      title={t`Version policy`}
      state={words}
      badge={<OriginBadge origin={originOf(form, "versionPolicy", "version_policy")} what={t`Version policy`} />}
    >
      <SegmentedControl
        aria-label={t`Version policy`}
        style={{ justifySelf: "start" }}
        value={kind}
        onChange={choose}
        disabled={form.disabled}
        data={[
          { value: "default", label: t`Default` },
          { value: "latest", label: t`Newest` },
          { value: "all", label: t`All` },
          { value: "specific", label: t`Named` },
        ]}
      />
      {policy?.kind === "latest" ? (
        <NumberInput
          label={t`How many of the newest`}
          value={policy.count}
          min={1}
          allowDecimal={false}
          onChange={(count) => {
            if (typeof count === "number" && count >= 1)
              form.onChange(setAt(form.text, ["version_policy", "latest", "num_versions"], String(count)));
          }}
        />
      ) : null}
      {policy?.kind === "specific" ? (
        <ListInput
          caption={t`Versions`}
          label={t`Versions`}
          value={policy.versions}
          least={1}
          placeholder="1, 3"
          onChange={(versions) => form.onChange(setAt(form.text, ["version_policy", "specific", "versions"], `[ ${versions.join(", ")} ]`))}
        />
      ) : null}
    </FoldedSection>
  );
}

function ResponseCache({ form }: { form: FormContext }) {
  const on = form.fields.responseCache;
  return (
    <FoldedSection
      title={t`Response cache`}
      state={on ? t`on` : t`off`}
      badge={<OriginBadge origin={originOf(form, "responseCache", "response_cache")} what={t`Response cache`} />}
    >
      <Switch
        label={t`Answer requests with the same inputs from memory`}
        checked={on}
        onChange={(event) =>
          form.onChange(
            event.currentTarget.checked ? setAt(form.text, ["response_cache", "enable"], "true") : removeAt(form.text, ["response_cache"]),
          )
        }
      />
      <p className={shared["hint"]}>
        <Trans>
          It takes room in a response cache, which the last step gives to replicas, and does not work with sequences or decoupled models.
        </Trans>
      </p>
    </FoldedSection>
  );
}

function SequenceBatching({ form }: { form: FormContext }) {
  const { sequence } = form.fields;
  const choose = (next: string) => {
    const bare = removeAt(removeAt(form.text, ["sequence_batching"]), ["dynamic_batching"]);
    if (next === "off") return form.onChange(removeAt(form.text, ["sequence_batching"]));
    form.onChange(`${bare.trimEnd()}\n\nsequence_batching {\n  ${next} { }\n}\n`);
  };
  return (
    <FoldedSection title={t`Sequence batching`} state={sequence ? sequence.strategy : t`off`}>
      <SegmentedControl
        aria-label={t`Sequence batching`}
        style={{ justifySelf: "start" }}
        value={sequence?.strategy ?? "off"}
        onChange={choose}
        disabled={form.disabled}
        data={[
          { value: "off", label: t`Off` },
          { value: "direct", label: t`Direct` },
          { value: "oldest", label: t`Oldest first` },
        ]}
      />
      {sequence ? (
        <NumberInput
          label={t`A sequence ends after idling`}
          value={sequence.maxIdleMicroseconds ?? ""}
          placeholder={`${count(1_000_000)} µs`}
          suffix={"\u202fµs"}
          {...DIGIT_GROUPS}
          min={1}
          allowDecimal={false}
          onChange={(value) =>
            form.onChange(
              typeof value === "number"
                ? setAt(form.text, ["sequence_batching", "max_sequence_idle_microseconds"], String(value))
                : removeAt(form.text, ["sequence_batching", "max_sequence_idle_microseconds"]),
            )
          }
        />
      ) : null}
      <p className={shared["hint"]}>
        <Trans>For models that keep state between requests. It takes the place of dynamic batching.</Trans>
      </p>
    </FoldedSection>
  );
}

function Parameters({ form }: { form: FormContext }) {
  const { parameters } = form.fields;
  return (
    <FoldedSection title={t`Parameters`} state={parameters.length === 0 ? t`none` : parameters.map((one) => one.key).join(", ")}>
      {parameters.map((parameter, index) => (
        <div key={index} className={shared["pair"]}>
          <TextInput
            aria-label={t`Parameter ${index + 1}, key`}
            classNames={{ input: "mono" }}
            value={parameter.key}
            onChange={(event) => form.onChange(setAt(form.text, ["parameters", index, "key"], quoted(event.currentTarget.value)))}
          />
          <TextInput
            aria-label={t`Parameter ${index + 1}, value`}
            classNames={{ input: "mono" }}
            value={parameter.value}
            onChange={(event) =>
              form.onChange(setAt(form.text, ["parameters", index, "value", "string_value"], quoted(event.currentTarget.value)))
            }
          />
          <ActionIcon
            aria-label={t`Remove the parameter ${parameter.key}`}
            onClick={() => form.onChange(removeMessage(form.text, "parameters", index))}
          >
            <IconTrash size={16} stroke={1.7} />
          </ActionIcon>
        </div>
      ))}
      <Button
        variant="default"
        leftSection={<IconPlus size={15} />}
        onClick={() => form.onChange(addMessage(form.text, "parameters", 'key: ""\n    value { string_value: "" }'))}
      >
        <Trans>Add a parameter</Trans>
      </Button>
    </FoldedSection>
  );
}
