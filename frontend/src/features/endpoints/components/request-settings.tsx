/** How requests to one deployment are treated. Some numbers bring new replicas; the rest acts within seconds. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, NumberInput, Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { NUMBERS, ROLLED_NUMBERS } from "@/components/deployment-numbers";
import { changeDeployment, rollDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment } from "@/api/types";
import { notifyDone, notifyProblem } from "@/components/notify";
import classes from "./request-settings.module.css";

const LONGEST_S = 3_600;
type Rolled = Pick<Deployment, (typeof ROLLED_NUMBERS)[number]>;
const rolledOf = (deployment: Rolled) => Object.fromEntries(ROLLED_NUMBERS.map((name) => [name, deployment[name]])) as unknown as Rolled;

export function RequestSettings({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const [timeout, setTimeout] = useState(deployment.request_timeout_ms / 1_000);
  const [retries, setRetries] = useState(deployment.retries);
  const [rolled, setRolled] = useState(rolledOf(deployment));
  const routed = timeout * 1_000 !== deployment.request_timeout_ms || retries !== deployment.retries;
  const rolls = ROLLED_NUMBERS.some((name) => rolled[name] !== deployment[name]);
  const save = useMutation({
    mutationFn: async () => {
      if (routed) await changeDeployment(endpoint, deployment.name, { request_timeout_ms: Math.round(timeout * 1_000), retries });
      if (rolls) await rollDeployment(endpoint, deployment.name, rolled);
    },
    onSuccess: () =>
      notifyDone(rolls ? t`New replicas of ${deployment.name} are on their way` : t`The settings of ${deployment.name} are saved`),
    onError: (error) => notifyProblem(error, t`The settings could not be saved`),
    // Also when it failed: the first half may be in force.
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) }),
  });
  return (
    <div className={classes["row"]} role="group" aria-label={t`Requests to ${deployment.name}`}>
      <span className={classes["name"]}>{deployment.name}</span>
      <NumberInput
        label={t`Time limit`}
        suffix=" s"
        value={timeout}
        min={0.001}
        max={LONGEST_S}
        decimalScale={3}
        w={120}
        disabled={refusal !== undefined}
        onChange={(value) => setTimeout(Number(value) || deployment.request_timeout_ms / 1_000)}
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
            value={rolled[name] ?? ""}
            min={range[0]}
            max={range[1]}
            allowDecimal={false}
            w={180}
            disabled={refusal !== undefined}
            onChange={(value) => setRolled({ ...rolled, [name]: Number(value) || null })}
          />
        );
      })}
      <Switch
        label={t`Retry on another replica when one drops a connection`}
        pb={5}
        checked={retries}
        disabled={refusal !== undefined}
        onChange={(event) => setRetries(event.currentTarget.checked)}
      />
      <Button
        variant="default"
        disabled={!(routed || rolls) || refusal !== undefined}
        title={refusal}
        loading={save.isPending}
        onClick={() => save.mutate()}
      >
        <Trans>Save</Trans>
      </Button>
    </div>
  );
}
