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
import { NumberField } from "@/components/number-field";
import { notifyDone, notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { OvertakenNote, useSaving } from "@/components/saving";
import rows from "../components/request-settings.module.css";
import { type Draft, draftOf, draftProblem, policyOf, policyText, previewText, TARGET_NAMES, TARGETS } from "./policy";
import { PolicyAdvanced } from "./policy-advanced";
import classes from "./policy-form.module.css";

const MOST_REPLICAS = 1_000;

/** What is edited, and whether that is in force or paused. */
const formOf = ({ autoscale }: Deployment, running: number) => ({
  policy: draftOf(autoscale, running),
  state: autoscale ? (autoscale.enabled ? "enabled" : "paused") : "none",
});

export function PolicyForm({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const kept = deployment.autoscale;
  const shownBy = keys.endpoints.one(endpoint);
  // why as it was at first: a count that others change is no change of the policy.
  const [running] = useState(deployment.instance_count);
  const saving = useSaving({ thing: deployment, part: (shown) => formOf(shown, running), shownBy });
  const draft = saving.draft.policy;
  const problem = draftProblem(draft);
  const touched = saving.changed;
  const save = async (policy: PolicyRequest | null, { etag }: Deployment) => {
    await changeDeployment(endpoint, deployment.name, { autoscale: policy }, etag);
    await queryClient.invalidateQueries({ queryKey: shownBy });
    notifyDone(t`The policy of ${deployment.name} is saved`);
  };
  const preview = useMutation({
    mutationFn: () => previewAutoscaling(endpoint, deployment.name, policyOf(draft, kept)),
    onError: (error) => notifyProblem(error, t`It cannot be foreseen`),
  });
  const setDraft = (policy: Draft) => {
    saving.edit({ ...saving.draft, policy });
    // What was foreseen is of another policy.
    preview.reset();
  };
  const told = saving.overtaken !== null;
  const off = refusal !== undefined;
  const whole = { allowDecimal: false, w: 110, disabled: off };
  return (
    <div className={rows["row"]} role="group" aria-label={t`Autoscaling of ${deployment.name}`}>
      <span className={rows["name"]}>{deployment.name}</span>
      <NumberField
        {...whole}
        label={t`At least`}
        value={draft.min}
        min={0}
        max={MOST_REPLICAS}
        title={t`0: none while nothing is asked of it. A request wakes one, and waits meanwhile.`}
        onChange={(value) => setDraft({ ...draft, min: value })}
      />
      <NumberField
        {...whole}
        label={t`At most`}
        value={draft.max}
        min={1}
        max={MOST_REPLICAS}
        onChange={(value) => setDraft({ ...draft, max: value })}
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
        disabled={(kept !== null && !touched) || problem !== null || off || told}
        title={refusal ?? problem ?? undefined}
        loading={saving.pending}
        onClick={() => saving.send(({ policy }, seen) => save(policyOf(policy, seen.autoscale), seen))}
      >
        {kept ? t`Save` : t`Scale by this`}
      </Button>
      {kept ? (
        <>
          <Button
            variant="subtle"
            disabled={off || told}
            onClick={() => saving.send((_, seen) => save({ ...(seen.autoscale ?? kept), enabled: !kept.enabled }, seen))}
          >
            {kept.enabled ? t`Pause` : t`Resume`}
          </Button>
          <Button variant="subtle" color="red" disabled={off || told} onClick={() => saving.send((_, seen) => save(null, seen))}>
            <Trans>Remove</Trans>
          </Button>
        </>
      ) : null}
      <PolicyAdvanced draft={draft} disabled={off} onChange={setDraft} />
      <OvertakenNote saving={saving} now={(current) => policyText(current.autoscale)} />
      {saving.error ? <ProblemCard error={saving.error} title={t`The policy could not be saved`} /> : null}
      {problem && !off ? <p className={`${classes["note"]} ${touched ? "" : "secondary"}`}>{problem}</p> : null}
      <p className={classes["note"]} role="status">
        {preview.data ? previewText(preview.data) : null}
      </p>
    </div>
  );
}
