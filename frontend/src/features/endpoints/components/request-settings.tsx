/** How requests to one deployment are treated; a change acts within seconds, without new replicas. */
import { Button, NumberInput, Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment } from "@/api/types";
import { notifyDone, notifyProblem } from "@/components/notify";
import classes from "./request-settings.module.css";

const LONGEST_S = 3_600;

export function RequestSettings({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const [timeout, setTimeout] = useState(deployment.request_timeout_ms / 1_000);
  const [retries, setRetries] = useState(deployment.retries);
  const changed = timeout * 1_000 !== deployment.request_timeout_ms || retries !== deployment.retries;
  const save = useMutation({
    mutationFn: () => changeDeployment(endpoint, deployment.name, { request_timeout_ms: Math.round(timeout * 1_000), retries }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) });
      notifyDone(`The settings of ${deployment.name} are saved`);
    },
    onError: (error) => notifyProblem(error, "The settings could not be saved"),
  });
  return (
    <div className={classes["row"]} role="group" aria-label={`Requests to ${deployment.name}`}>
      <span className={classes["name"]}>{deployment.name}</span>
      <NumberInput
        label="Time limit"
        suffix=" s"
        value={timeout}
        min={0.001}
        max={LONGEST_S}
        decimalScale={3}
        w={120}
        disabled={refusal !== undefined}
        onChange={(value) => setTimeout(Number(value) || deployment.request_timeout_ms / 1_000)}
      />
      <Switch
        label="Retry on another replica when one drops a connection"
        pb={5}
        checked={retries}
        disabled={refusal !== undefined}
        onChange={(event) => setRetries(event.currentTarget.checked)}
      />
      <Button variant="default" disabled={!changed || refusal !== undefined} title={refusal} loading={save.isPending} onClick={() => save.mutate()}>
        Save
      </Button>
    </div>
  );
}
