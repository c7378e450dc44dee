/** From a configuration that was measured to the deployment: saved as a revision, then rolled out. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { changeDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { applyTuning } from "@/api/tunings";
import type { Deployment, Tuning, TuningRun } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { OvertakenNote, useSaving } from "@/components/saving";
import { runsText } from "../runs-text";
import { applyRecipe, rollOutRecipe } from "./recipes";
import classes from "./tuning.module.css";
import { sameSetting, settingText, savedUse } from "./words";

export interface TakeItProps {
  tuning: Tuning;
  /** The one that is pointed out. */
  run: TuningRun | undefined;
  deployment: Deployment;
}

const runs = ({ model, version, config_revision }: Deployment) => ({ model, version, config_revision });

export function TakeIt({ tuning, run, deployment }: TakeItProps) {
  const client = useQueryClient();
  const shownBy = keys.endpoints.one(tuning.endpoint);
  const rolling = useSaving({ thing: deployment, part: runs, shownBy });
  const apply = useMutation({
    mutationFn: (one: TuningRun) => applyTuning(tuning.id, one.chosen ? undefined : one.setting),
    onSuccess: async (saved) => {
      client.setQueryData(keys.endpoints.tuning(saved.id), saved);
      notifyDone(t`Configuration revision ${saved.applied ?? ""} of ${saved.registered_model} is saved`);
      await Promise.all([
        client.invalidateQueries({ queryKey: keys.endpoints.tunings(saved.endpoint, saved.deployment) }),
        client.invalidateQueries({ queryKey: keys.models.one(saved.registered_model) }),
      ]);
    },
  });
  const { applied, version, deployment: name } = tuning;
  const use = savedUse(tuning, deployment);
  const today = run !== undefined && sameSetting(run.setting, tuning.now);
  const usable = run !== undefined && run.throughput !== null && !run.error && !today;
  const what = run ? settingText(run.setting) : "";
  return (
    <>
      {run ? (
        <div className={classes["actions"]}>
          <RefusingButton
            needs="deploy"
            variant={applied === null ? "filled" : "default"}
            disabled={!usable}
            title={today ? t`That is what runs today` : undefined}
            loading={apply.isPending}
            onClick={() => apply.mutate(run)}
          >
            <Trans>Apply</Trans>
          </RefusingButton>
          {usable ? <AsCodeButton recipe={() => applyRecipe(tuning, run.chosen ? undefined : run.setting)} /> : null}
          <span className="secondary">
            <Trans>{what}, as a revision of the model’s configuration. Select another one below to take that instead.</Trans>
          </span>
        </div>
      ) : null}
      {apply.error ? <ProblemCard error={apply.error} title={t`It could not be saved`} /> : null}
      {applied === null ? null : (
        <div className={classes["actions"]} role="status">
          <span>
            {use === "runs it"
              ? t`Saved as configuration revision ${applied}, which ${tuning.deployment} runs.`
              : use === "could run it"
                ? t`Saved as configuration revision ${applied}. Nothing that serves has changed yet.`
                : t`Saved as configuration revision ${applied} of version ${version}, which ${name} does not run any more.`}
          </span>
          {use === "could run it" ? (
            <>
              <RefusingButton needs="deploy" onClick={() => rolling.edit({ ...runs(deployment), config_revision: applied })}>
                <Trans>Roll out</Trans>
              </RefusingButton>
              <AsCodeButton recipe={() => rollOutRecipe(tuning, applied)} />
            </>
          ) : null}
        </div>
      )}
      <ConfirmModal
        opened={rolling.edited}
        onClose={rolling.discard}
        title={t`Update ${tuning.deployment}`}
        confirmLabel={t`Run configuration ${applied ?? ""}`}
        blocked={rolling.overtaken !== null}
        onConfirm={() =>
          rolling.sendNow(async ({ config_revision }, { etag }) => {
            await changeDeployment(tuning.endpoint, tuning.deployment, { config_revision }, etag);
            await client.invalidateQueries({ queryKey: shownBy });
            notifyDone(t`${tuning.deployment} is being updated to configuration ${config_revision ?? ""}`);
          })
        }
      >
        <OvertakenNote saving={rolling} now={runsText} />
        <p>
          <Trans>
            New replicas start beside the old ones, which answer until the new ones do. If they never come up, the old ones stay, and this
            revision can be rolled back at any time.
          </Trans>
        </p>
      </ConfirmModal>
    </>
  );
}
