/** How many replicas one deployment has: by people, or by a policy, with what it would have done before. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, NumberInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeDeployment, previewAutoscaling } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment, PolicyRequest } from "@/api/types";
import { notifyDone, notifyProblem } from "@/components/notify";
import rows from "../components/request-settings.module.css";
import { draftOf, draftProblem, policyOf, previewText, TARGET_NAMES, TARGETS } from "./policy";
import { PolicyAdvanced } from "./policy-advanced";
import classes from "./policy-form.module.css";

const MOST_REPLICAS = 1_000;

export function PolicyForm({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const kept = deployment.autoscale;
  const [draft, setDraft] = useState(draftOf(kept, deployment.instance_count));
  const problem = draftProblem(draft);
  const touched = JSON.stringify(draft) !== JSON.stringify(draftOf(kept, deployment.instance_count));
  const save = useMutation({
    mutationFn: (policy: PolicyRequest | null) => changeDeployment(endpoint, deployment.name, { autoscale: policy }),
    onSuccess: () => notifyDone(t`The policy of ${deployment.name} is saved`),
    onError: (error) => notifyProblem(error, t`The policy could not be saved`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) }),
  });
  const preview = useMutation({
    mutationFn: () => previewAutoscaling(endpoint, deployment.name, policyOf(draft, kept)),
    onError: (error) => notifyProblem(error, t`It cannot be foreseen`),
  });
  const off = refusal !== undefined;
  const whole = { allowDecimal: false, w: 110, disabled: off };
  return (
    <div className={rows["row"]} role="group" aria-label={t`Autoscaling of ${deployment.name}`}>
      <span className={rows["name"]}>{deployment.name}</span>
      <NumberInput
        {...whole}
        label={t`At least`}
        value={draft.min}
        min={0}
        max={MOST_REPLICAS}
        title={t`0: none while nothing is asked of it. A request wakes one, and waits meanwhile.`}
        onChange={(value) => setDraft({ ...draft, min: Number(value) || 0 })}
      />
      <NumberInput
        {...whole}
        label={t`At most`}
        value={draft.max}
        min={1}
        max={MOST_REPLICAS}
        onChange={(value) => setDraft({ ...draft, max: Number(value) || 1 })}
      />
      {TARGET_NAMES.map((name) => (
        <NumberInput
          key={name}
          label={TARGETS[name].label}
          title={TARGETS[name].help}
          suffix={TARGETS[name].suffix}
          placeholder={t`any`}
          value={draft.targets[name] ?? ""}
          min={0}
          w={150}
          disabled={off}
          onChange={(value) => setDraft({ ...draft, targets: { ...draft.targets, [name]: Number(value) || null } })}
        />
      ))}
      <Button variant="default" disabled={problem !== null || off} loading={preview.isPending} onClick={() => preview.mutate()}>
        <Trans>Preview</Trans>
      </Button>
      <Button
        variant="default"
        disabled={(kept !== null && !touched) || problem !== null || off}
        title={refusal ?? problem ?? undefined}
        loading={save.isPending}
        onClick={() => save.mutate(policyOf(draft, kept))}
      >
        {kept ? t`Save` : t`Scale by this`}
      </Button>
      {kept ? (
        <>
          <Button variant="subtle" disabled={off} onClick={() => save.mutate({ ...kept, enabled: !kept.enabled })}>
            {kept.enabled ? t`Pause` : t`Resume`}
          </Button>
          <Button variant="subtle" color="red" disabled={off} onClick={() => save.mutate(null)}>
            <Trans>Remove</Trans>
          </Button>
        </>
      ) : null}
      <PolicyAdvanced draft={draft} disabled={off} onChange={setDraft} />
      {touched && problem ? <p className={classes["note"]}>{problem}</p> : null}
      <p className={classes["note"]} role="status">
        {preview.data ? previewText(preview.data) : null}
      </p>
    </div>
  );
}
