/** Another version of the model, or another configuration of it, without a gap. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { changeDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { modelVersionsQuery } from "@/api/models";
import type { Deployment } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { OvertakenNote, useSaving } from "@/components/saving";
import { updateRecipe } from "../recipes";
import { runsText } from "../runs-text";

const AS_UPLOADED = "0";

/** What is chosen in the two fields. */
interface Choice {
  version: string;
  config: string;
}

const runs = ({ version, config_revision: revision }: Deployment): Choice => ({
  version: String(version),
  config: String(revision ?? AS_UPLOADED),
});
const bodyOf = ({ version, config }: Choice) => ({ version, config_revision: config === AS_UPLOADED ? null : Number(config) });

export interface UpdateDialogProps {
  endpoint: string;
  deployment: Deployment;
  opened: boolean;
  onClose: () => void;
}

export function UpdateDialog({ endpoint, deployment, opened, onClose }: UpdateDialogProps) {
  const queryClient = useQueryClient();
  const versions = useQuery({ ...modelVersionsQuery(deployment.model), enabled: opened });
  const shownBy = keys.endpoints.one(endpoint);
  const saving = useSaving({ thing: deployment, part: runs, shownBy });
  const { version: chosen, config } = saving.draft;
  const items = (versions.data?.items ?? []).filter((item) => !item.archived);
  const revisions = items.find((item) => String(item.version) === chosen)?.config_revisions ?? [];
  const body = bodyOf(saving.draft);
  const changes = saving.changed;
  const close = () => {
    saving.discard();
    onClose();
  };
  const update = async (choice: Choice, { etag }: Deployment) => {
    await changeDeployment(endpoint, deployment.name, bodyOf(choice), etag);
    await queryClient.invalidateQueries({ queryKey: shownBy });
    notifyDone(t`${deployment.name} is being updated to ${deployment.model} v${choice.version}`);
    onClose();
  };
  return (
    <ConfirmModal
      opened={opened}
      onClose={close}
      title={t`Update ${deployment.name}`}
      confirmLabel={changes ? t`Run ${deployment.model} v${chosen}` : null}
      blocked={saving.overtaken !== null}
      onConfirm={() => saving.sendNow(update)}
    >
      {versions.error ? (
        <ProblemCard error={versions.error} title={t`The versions could not be read`} onRetry={() => void versions.refetch()} />
      ) : null}
      <Select
        label={t`Version of ${deployment.model}`}
        value={chosen}
        allowDeselect={false}
        data={items.map((item) => ({
          value: String(item.version),
          label: `v${item.version}${item.version === deployment.version ? t`, runs now` : ""}${item.aliases.length > 0 ? ` (${item.aliases.join(", ")})` : ""}`,
        }))}
        onChange={(value) => {
          const now = runs(deployment);
          if (value !== null) saving.edit(value === now.version ? now : { version: value, config: AS_UPLOADED });
        }}
        data-autofocus
      />
      <Select
        label={t`Configuration`}
        value={config}
        allowDeselect={false}
        data={[
          { value: AS_UPLOADED, label: t`as uploaded` },
          ...revisions.map((item) => ({
            value: String(item.number),
            label: item.message ? `${t`revision ${item.number}`}: ${item.message}` : t`revision ${item.number}`,
          })),
        ]}
        onChange={(value) => value !== null && saving.edit({ version: chosen, config: value })}
      />
      <OvertakenNote saving={saving} now={runsText} onTake={onClose} />
      <p>
        <Trans>
          New replicas start beside the old ones, which answer until the new ones do. If they never come up, the old ones stay, and this
          revision can be rolled back at any time.
        </Trans>
      </p>
      {changes ? (
        <AsCodeButton wide recipe={() => updateRecipe(endpoint, deployment.name, body)} />
      ) : (
        <p role="status">
          <b>
            <Trans>
              Nothing to change: {deployment.name} runs {deployment.model} v{chosen} with this configuration already.
            </Trans>
          </b>
        </p>
      )}
    </ConfirmModal>
  );
}
