/** How requests to one deployment are treated. Another longest wait brings new replicas; the rest acts within seconds. */
import { Button, NumberInput, Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeDeployment, rollDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment } from "@/api/types";
import { notifyDone, notifyProblem } from "@/components/notify";
import classes from "./request-settings.module.css";

const LONGEST_S = 3_600;
const LONGEST_WAIT_MS = 3_600_000;

export function RequestSettings({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const [timeout, setTimeout] = useState(deployment.request_timeout_ms / 1_000);
  const [retries, setRetries] = useState(deployment.retries);
  const [wait, setWait] = useState(deployment.max_queue_wait_ms);
  const routed = timeout * 1_000 !== deployment.request_timeout_ms || retries !== deployment.retries;
  const rolls = wait !== deployment.max_queue_wait_ms;
  const save = useMutation({
    mutationFn: async () => {
      if (routed) await changeDeployment(endpoint, deployment.name, { request_timeout_ms: Math.round(timeout * 1_000), retries });
      if (rolls) await rollDeployment(endpoint, deployment.name, { max_queue_wait_ms: wait });
    },
    onSuccess: () =>
      notifyDone(rolls ? `New replicas of ${deployment.name} are on their way` : `The settings of ${deployment.name} are saved`),
    onError: (error) => notifyProblem(error, "The settings could not be saved"),
    // Also when it failed: the first half may be in force.
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) }),
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
      <NumberInput
        label="Longest wait in a queue"
        suffix=" ms"
        placeholder="as the model says"
        title="A change brings new replicas; the old ones answer until they do."
        value={wait ?? ""}
        min={0}
        max={LONGEST_WAIT_MS}
        allowDecimal={false}
        w={180}
        disabled={refusal !== undefined}
        onChange={(value) => setWait(Number(value) || null)}
      />
      <Switch
        label="Retry on another replica when one drops a connection"
        pb={5}
        checked={retries}
        disabled={refusal !== undefined}
        onChange={(event) => setRetries(event.currentTarget.checked)}
      />
      <Button variant="default" disabled={!(routed || rolls) || refusal !== undefined} title={refusal} loading={save.isPending} onClick={() => save.mutate()}>
        Save
      </Button>
    </div>
  );
}
