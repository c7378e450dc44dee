/** What is asked before a deployment changes; the same from its menu and from the command palette. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { changeDeployment, deleteDeployment, pauseDeployment, restartDeployment, startDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import type { Deployment, Endpoint } from "@/api/types";
import { AsCodeButton, type Recipe } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { listed } from "@/components/format";
import { NumberField } from "@/components/number-field";
import { notifyDone, notifyProblem } from "@/components/notify";
import { OvertakenNote, useSaving } from "@/components/saving";
import { scaleBounds, scaleText } from "../autoscaling/policy";
import { deleteRecipe, pauseRecipe, restartRecipe, scaleRecipe } from "../recipes";

const MOST_INSTANCES = 64;

export interface DeploymentDialogProps {
  endpoint: Endpoint;
  deployment: Deployment;
  opened: boolean;
  onClose: () => void;
}

const refresh = (client: QueryClient, endpoint: string) => client.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) });

/** Nothing is lost by it, so nothing is asked. */
export async function startNow(client: QueryClient, endpoint: string, deployment: string): Promise<void> {
  try {
    await startDeployment(endpoint, deployment);
    await refresh(client, endpoint);
    notifyDone(t`${deployment} is starting`);
  } catch (error) {
    notifyProblem(error, t`${deployment} could not be started`);
  }
}

/** A deployment that is deleted leaves its share to the others; one that is paused keeps it. */
function TrafficWarning({ name, share, heirs = [] }: { name: string; share: number; heirs?: readonly string[] }) {
  if (share === 0) return null;
  const names = listed(heirs);
  return (
    <p>
      <b>
        <Trans>
          {name} receives {share} % of the traffic.
        </Trans>
      </b>{" "}
      {heirs.length > 1
        ? t`From then on those requests go to ${names}, in proportion to their shares.`
        : heirs.length > 0
          ? t`From then on those requests go to ${names}.`
          : t`Those requests will be refused unless you move the traffic first.`}
    </p>
  );
}

const AsCode = ({ recipe }: { recipe: Recipe }) => <AsCodeButton wide recipe={() => recipe} />;

export function RestartDialog({ endpoint, deployment, opened, onClose }: DeploymentDialogProps) {
  const client = useQueryClient();
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={t`Restart ${deployment.name}`}
      confirmLabel={t`Restart ${deployment.name}`}
      onConfirm={async () => {
        await restartDeployment(endpoint.name, deployment.name);
        await refresh(client, endpoint.name);
        notifyDone(t`${deployment.name} is being restarted`);
      }}
    >
      <p>
        <Trans>Fresh replicas answer before those of now go, so no request is lost. For that time both need their memory.</Trans>
      </p>
      <AsCode recipe={restartRecipe(endpoint.name, deployment.name)} />
    </ConfirmModal>
  );
}

export function PauseDialog({ endpoint, deployment, opened, onClose }: DeploymentDialogProps) {
  const client = useQueryClient();
  const share = endpoint.traffic[deployment.name] ?? 0;
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={t`Pause ${deployment.name}`}
      confirmLabel={t`Pause ${deployment.name}`}
      danger={share > 0}
      typeToConfirm={share > 0 ? deployment.name : undefined}
      onConfirm={async () => {
        await pauseDeployment(endpoint.name, deployment.name, share > 0);
        await refresh(client, endpoint.name);
        notifyDone(t`${deployment.name} is being paused`);
      }}
    >
      <p>
        <Trans>Its replicas are drained and stopped; version, settings and secrets stay. Start brings back as many replicas as now.</Trans>
      </p>
      <TrafficWarning name={deployment.name} share={share} />
      <AsCode recipe={pauseRecipe(endpoint.name, deployment.name, share > 0)} />
    </ConfirmModal>
  );
}

const instancesText = (count: number): string => plural(count, { one: "# instance", other: "# instances" });

export function ScaleDialog({ endpoint, deployment, opened, onClose }: DeploymentDialogProps) {
  const client = useQueryClient();
  const saving = useSaving({ thing: deployment, part: (shown) => shown.instance_count, shownBy: keys.endpoints.one(endpoint.name) });
  const instances = saving.draft;
  const limited = scaleBounds(deployment.autoscale);
  const bounds = limited ?? { min: 1, max: MOST_INSTANCES };
  const within = bounds.min <= instances && instances <= bounds.max;
  const close = () => {
    saving.discard();
    onClose();
  };
  const scale = async (count: number, { etag }: Deployment) => {
    await changeDeployment(endpoint.name, deployment.name, { instance_count: count }, etag);
    await refresh(client, endpoint.name);
    notifyDone(t`${deployment.name} is being scaled to ${count}`);
    onClose();
  };
  return (
    <ConfirmModal
      opened={opened}
      onClose={close}
      title={t`Scale ${deployment.name}`}
      confirmLabel={plural(instances, { one: "Run # instance", other: "Run # instances" })}
      blocked={!within || saving.overtaken !== null}
      onConfirm={() => saving.sendNow(scale)}
    >
      <NumberField
        label={t`Instances`}
        description={t`Each instance is one runtime process with its own copy of the model.`}
        value={instances}
        min={bounds.min}
        max={bounds.max}
        error={
          within ? undefined : limited ? t`${bounds.min} to ${bounds.max} by its autoscaling policy` : t`${bounds.min} to ${bounds.max}`
        }
        onChange={saving.edit}
        data-autofocus
      />
      <OvertakenNote saving={saving} now={(current) => instancesText(current.instance_count)} onTake={onClose} />
      {deployment.autoscale ? <p>{scaleText(deployment.autoscale)}</p> : null}
      <AsCode recipe={scaleRecipe(endpoint.name, deployment.name, instances)} />
    </ConfirmModal>
  );
}

export function DeleteDialog({ endpoint, deployment, opened, onClose }: DeploymentDialogProps) {
  const client = useQueryClient();
  const share = endpoint.traffic[deployment.name] ?? 0;
  const count = deployment.instance_count;
  const heirs = Object.keys(endpoint.traffic).filter((name) => name !== deployment.name && (endpoint.traffic[name] ?? 0) > 0);
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={t`Delete ${deployment.name}`}
      confirmLabel={t`Delete ${deployment.name}`}
      danger
      typeToConfirm={share > 0 ? deployment.name : undefined}
      onConfirm={async () => {
        await deleteDeployment(endpoint.name, deployment.name, share > 0);
        await refresh(client, endpoint.name);
        notifyDone(t`${deployment.name} is being deleted`);
      }}
    >
      <p>
        {plural(count, {
          one: "Its instance is drained and stopped. The model version stays registered.",
          other: "Its # instances are drained and stopped. The model version stays registered.",
        })}
      </p>
      <TrafficWarning name={deployment.name} share={share} heirs={heirs} />
      <AsCode recipe={deleteRecipe(endpoint.name, deployment.name, share > 0)} />
    </ConfirmModal>
  );
}
