/** The folded part of the last step: limits of requests, variables of the processes, probes. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Checkbox, NumberInput, PasswordInput, Switch, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import shared from "../deploy.module.css";
import classes from "./run-settings.module.css";
import { NUMBER_NAMES, NUMBERS } from "@/components/deployment-numbers";
import {
  nextId,
  PROBE_DEFAULTS,
  type Probe,
  type ProbeKind,
  type ProbePart,
  type Problems,
  type RunSettings,
  type Secrets,
  type Variable,
} from "../draft/settings";
import { DIGIT_GROUPS } from "@/components/digit-groups";
import { FoldedSection } from "./folded-section";

export interface RunSettingsProps {
  settings: RunSettings;
  onSettings: (settings: RunSettings) => void;
  secrets: Secrets;
  onSecrets: (secrets: Secrets) => void;
  problems: Problems;
}

export function RunSettingsSections(props: RunSettingsProps) {
  return (
    <>
      <Requests {...props} />
      <Variables {...props} />
      <Probes {...props} />
    </>
  );
}

const touches = (problems: Problems, ...starts: string[]): boolean =>
  Object.keys(problems).some((field) => starts.some((start) => field.startsWith(start)));

interface NumberProps {
  label: string;
  field: string;
  value: number | null;
  placeholder: string;
  problems: Problems;
  onValue: (value: number | null) => void;
}

function OptionalNumber({ label, field, value, placeholder, problems, onValue }: NumberProps) {
  return (
    <NumberInput
      label={label}
      value={value ?? ""}
      placeholder={placeholder}
      {...DIGIT_GROUPS}
      allowDecimal={false}
      // A number that is out of range stays as typed, with the reason beside it.
      clampBehavior="none"
      onChange={(next) => onValue(typeof next === "number" ? next : null)}
      error={problems[field]}
    />
  );
}

function Requests({ settings, onSettings, problems }: RunSettingsProps) {
  const words = [...NUMBER_NAMES.map((name) => NUMBERS[name].told(settings[name] ?? null)), settings.retries ? "" : t`no second try`];
  return (
    <FoldedSection title={t`Requests`} state={words.filter(Boolean).join(", ")} wrong={touches(problems, ...NUMBER_NAMES, "retries")}>
      <div className={shared["fields"]}>
        {NUMBER_NAMES.map((name) => {
          const { label, suffix, placeholder } = NUMBERS[name];
          return (
            <OptionalNumber
              key={name}
              label={suffix ? `${label} (${suffix})` : label}
              field={name}
              value={settings[name] ?? null}
              placeholder={placeholder}
              problems={problems}
              onValue={(value) => onSettings({ ...settings, [name]: value })}
            />
          );
        })}
      </div>
      <Switch
        label={t`Try another replica when one does not answer`}
        checked={settings.retries}
        onChange={(event) => onSettings({ ...settings, retries: event.currentTarget.checked })}
      />
      <p className={shared["hint"]}>
        <Trans>
          As many again may wait for a replica; more get 429. Who waits in a model&apos;s queue for too long gets 429 at the scoring URI and
          503 below <code>v2/</code>; the model&apos;s own, shorter limit is part of its configuration: step 3, Queue. The response cache
          answers for models that ask for it there.
        </Trans>
      </p>
    </FoldedSection>
  );
}

function Variables(props: RunSettingsProps) {
  const { settings, onSettings, problems } = props;
  const { variables } = settings;
  const add = () => {
    const made: Variable = { id: nextId(variables), name: "", value: "", secret: false };
    onSettings({ ...settings, variables: [...variables, made] });
  };
  const general = problems["environment"] ?? problems["secret_environment"];
  return (
    <FoldedSection
      title={t`Environment variables`}
      state={variables.length === 0 ? t`none` : variables.map((one) => one.name || "…").join(", ")}
      wrong={touches(problems, "variable.", "environment", "secret_environment")}
    >
      {variables.map((one, index) => (
        <VariableRow key={one.id} {...props} variable={one} position={index + 1} />
      ))}
      {general === undefined ? null : (
        <p className={shared["hint"]} data-tone="error" role="alert">
          {general}
        </p>
      )}
      <Button variant="default" leftSection={<IconPlus size={15} />} onClick={add}>
        <Trans>Add a variable</Trans>
      </Button>
      {variables.some((one) => one.secret) ? (
        <p className={shared["hint"]}>
          <Trans>Secrets are kept encrypted and never shown again; a draft does not hold them.</Trans>
        </p>
      ) : null}
    </FoldedSection>
  );
}

interface VariableRowProps extends RunSettingsProps {
  variable: Variable;
  position: number;
}

function VariableRow({ variable, position, settings, onSettings, secrets, onSecrets, problems }: VariableRowProps) {
  const { id, name, value, secret } = variable;
  const change = (part: Partial<Variable>) =>
    onSettings({ ...settings, variables: settings.variables.map((one) => (one.id === id ? { ...one, ...part } : one)) });
  const remove = () => {
    onSecrets(Object.fromEntries(Object.entries(secrets).filter(([key]) => key !== String(id))));
    onSettings({ ...settings, variables: settings.variables.filter((one) => one.id !== id) });
  };
  // What was typed goes along to the other side, and is kept on one side only.
  const hide = (hidden: boolean) => {
    onSecrets({ ...secrets, [id]: hidden ? value : "" });
    change({ secret: hidden, value: hidden ? "" : (secrets[id] ?? "") });
  };
  return (
    <div className={classes["variable"]} role="group" aria-label={t`Variable ${position}`}>
      <TextInput
        aria-label={t`Variable ${position}, name`}
        placeholder="NAME"
        classNames={{ input: "mono" }}
        value={name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={problems[`variable.${id}.name`]}
      />
      {secret ? (
        <PasswordInput
          aria-label={t`Variable ${position}, value`}
          placeholder={t`value`}
          autoComplete="off"
          value={secrets[id] ?? ""}
          onChange={(event) => onSecrets({ ...secrets, [id]: event.currentTarget.value })}
          error={problems[`variable.${id}.value`]}
        />
      ) : (
        <TextInput
          aria-label={t`Variable ${position}, value`}
          placeholder={t`value`}
          classNames={{ input: "mono" }}
          value={value}
          onChange={(event) => change({ value: event.currentTarget.value })}
          error={problems[`variable.${id}.value`]}
        />
      )}
      <Checkbox label={t`Secret`} checked={secret} onChange={(event) => hide(event.currentTarget.checked)} />
      <ActionIcon aria-label={t`Remove the variable ${name || position}`} onClick={remove}>
        <IconTrash size={16} stroke={1.7} />
      </ActionIcon>
    </div>
  );
}

const KINDS: { kind: ProbeKind; told: string; label: string; own: string; hint: string }[] = [
  {
    kind: "readiness_probe",
    told: t`readiness`,
    label: t`Readiness probe`,
    own: t`Readiness probe of your own`,
    hint: t`A replica that fails it gets no requests.`,
  },
  {
    kind: "liveness_probe",
    told: t`liveness`,
    label: t`Liveness probe`,
    own: t`Liveness probe of your own`,
    hint: t`A replica that fails it is started again.`,
  },
];
const PARTS: { part: ProbePart; label: string }[] = [
  { part: "initial_delay", label: t`First after (s)` },
  { part: "period", label: t`Then every (s)` },
  { part: "timeout", label: t`Answer within (s)` },
  { part: "success_threshold", label: t`Good, in a row` },
  { part: "failure_threshold", label: t`Failed, in a row` },
];

function Probes({ settings, onSettings, problems }: RunSettingsProps) {
  const own = KINDS.filter(({ kind }) => settings[kind] !== null);
  return (
    <FoldedSection
      title={t`Probes`}
      state={own.length === 0 ? t`the node's own: asked often, from the start` : own.map((one) => one.told).join(", ")}
      wrong={touches(problems, "readiness_probe", "liveness_probe")}
    >
      {KINDS.map(({ kind, label, own: switchLabel, hint }) => (
        <ProbeFields
          key={kind}
          kind={kind}
          label={label}
          own={switchLabel}
          hint={hint}
          probe={settings[kind]}
          problems={problems}
          onProbe={(probe) => onSettings({ ...settings, [kind]: probe })}
        />
      ))}
      <p className={shared["hint"]}>
        <Trans>
          While a replica starts, its node asks it all the time; a readiness probe of your own also says when it counts as started.
        </Trans>
      </p>
    </FoldedSection>
  );
}

interface ProbeFieldsProps {
  kind: ProbeKind;
  label: string;
  /** What switches it on. */
  own: string;
  hint: string;
  probe: Probe | null;
  problems: Problems;
  onProbe: (probe: Probe | null) => void;
}

function ProbeFields({ kind, label, own, hint, probe, problems, onProbe }: ProbeFieldsProps) {
  return (
    <>
      <Switch
        label={own}
        description={hint}
        checked={probe !== null}
        onChange={(event) => onProbe(event.currentTarget.checked ? { ...PROBE_DEFAULTS } : null)}
      />
      {probe === null ? null : (
        <div className={shared["fields"]} role="group" aria-label={label}>
          {PARTS.map(({ part, label: words }) => (
            <OptionalNumber
              key={part}
              label={words}
              field={`${kind}.${part}`}
              value={probe[part]}
              placeholder={String(PROBE_DEFAULTS[part])}
              problems={problems}
              onValue={(value) => onProbe({ ...probe, [part]: value })}
            />
          ))}
        </div>
      )}
    </>
  );
}
