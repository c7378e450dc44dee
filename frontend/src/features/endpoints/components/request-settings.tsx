/** How requests to one deployment are treated. Some numbers bring new replicas; the rest acts within seconds. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, NumberInput, Switch } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { NUMBERS, ROLLED_NUMBERS } from "@/components/deployment-numbers";
import { changeDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment } from "@/api/types";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { OvertakenNote, useSaving, Values } from "@/components/saving";
import classes from "./request-settings.module.css";

const LONGEST_S = 3_600;
const SETTINGS = ["request_timeout_ms", "retries", ...ROLLED_NUMBERS] as const;
type Draft = Pick<Deployment, (typeof SETTINGS)[number]>;

const draftOf = (deployment: Deployment) => Object.fromEntries(SETTINGS.map((name) => [name, deployment[name]])) as unknown as Draft;

/** What they are, in the words of the form. */
function Shown({ settings }: { settings: Draft }) {
  return (
    <Values
      of={[
        [t`Time limit`, `${settings.request_timeout_ms / 1_000} s`],
        ...ROLLED_NUMBERS.map((name) => {
          const { label, suffix, placeholder } = NUMBERS[name];
          const value = settings[name];
          return [label, value === null ? placeholder : `${value} ${suffix}`] as const;
        }),
        [t`Retry on another replica when one drops a connection`, settings.retries ? t`yes` : t`no`],
      ]}
    />
  );
}

export function RequestSettings({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const shownBy = keys.endpoints.one(endpoint);
  const saving = useSaving({ thing: deployment, part: draftOf, shownBy });
  const draft = saving.draft;
  const edit = (change: Partial<Draft>) => saving.edit({ ...draft, ...change });
  const save = async (settings: Draft, seen: Deployment) => {
    // why only these: what brings new replicas has to wait for a change under way, even where it says what they have already.
    const changes = Object.fromEntries(SETTINGS.filter((name) => settings[name] !== seen[name]).map((name) => [name, settings[name]]));
    const rolls = ROLLED_NUMBERS.some((name) => name in changes);
    await changeDeployment(endpoint, deployment.name, changes, seen.etag);
    await queryClient.invalidateQueries({ queryKey: shownBy });
    notifyDone(rolls ? t`New replicas of ${deployment.name} are on their way` : t`The settings of ${deployment.name} are saved`);
  };
  return (
    <div className={classes["row"]} role="group" aria-label={t`Requests to ${deployment.name}`}>
      <span className={classes["name"]}>{deployment.name}</span>
      <NumberInput
        label={t`Time limit`}
        suffix=" s"
        value={draft.request_timeout_ms / 1_000}
        min={0.001}
        max={LONGEST_S}
        decimalScale={3}
        w={120}
        disabled={refusal !== undefined}
        onChange={(value) => edit({ request_timeout_ms: Math.round(Number(value) * 1_000) || deployment.request_timeout_ms })}
      />
      {ROLLED_NUMBERS.map((name) => {
        const { label, suffix, placeholder, range } = NUMBERS[name];
        return (
          <NumberInput
            key={name}
            label={label}
            suffix={` ${suffix}`}
            placeholder={placeholder}
            title={t`A change brings new replicas; the old ones answer until they do.`}
            value={draft[name] ?? ""}
            min={range[0]}
            max={range[1]}
            allowDecimal={false}
            w={180}
            disabled={refusal !== undefined}
            onChange={(value) => edit({ [name]: Number(value) || null })}
          />
        );
      })}
      <Switch
        label={t`Retry on another replica when one drops a connection`}
        pb={5}
        checked={draft.retries}
        disabled={refusal !== undefined}
        onChange={(event) => edit({ retries: event.currentTarget.checked })}
      />
      <Button
        variant="default"
        disabled={!saving.changed || saving.overtaken !== null || refusal !== undefined}
        title={refusal}
        loading={saving.pending}
        onClick={() => saving.send(save)}
      >
        <Trans>Save</Trans>
      </Button>
      <OvertakenNote saving={saving} now={(current) => <Shown settings={draftOf(current)} />} />
      {saving.error ? <ProblemCard error={saving.error} title={t`The settings could not be saved`} /> : null}
    </div>
  );
}
