/** Another version of the model, or another configuration of it, without a gap. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { rollDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { modelVersionsQuery } from "@/api/models";
import type { Deployment } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { updateRecipe } from "../recipes";

const AS_UPLOADED = "0";

export interface UpdateDialogProps {
  endpoint: string;
  deployment: Deployment;
  opened: boolean;
  onClose: () => void;
}

export function UpdateDialog({ endpoint, deployment, opened, onClose }: UpdateDialogProps) {
  const queryClient = useQueryClient();
  const versions = useQuery({ ...modelVersionsQuery(deployment.model), enabled: opened });
  const [version, setVersion] = useState<string | null>(null);
  const [revision, setRevision] = useState<string | null>(null);
  const items = (versions.data?.items ?? []).filter((item) => !item.archived);
  const chosen = version ?? String(deployment.version);
  const revisions = items.find((item) => String(item.version) === chosen)?.config_revisions ?? [];
  const sameVersion = chosen === String(deployment.version);
  const config = revision ?? (sameVersion ? String(deployment.config_revision ?? AS_UPLOADED) : AS_UPLOADED);
  const body = { version: chosen, config_revision: config === AS_UPLOADED ? null : Number(config) };
  const changes = !sameVersion || config !== String(deployment.config_revision ?? AS_UPLOADED);
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={t`Update ${deployment.name}`}
      confirmLabel={changes ? t`Run ${deployment.model} v${chosen}` : null}
      onConfirm={async () => {
        await rollDeployment(endpoint, deployment.name, body);
        await queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint) });
        notifyDone(t`${deployment.name} is being updated to ${deployment.model} v${chosen}`);
      }}
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
          setVersion(value);
          setRevision(null);
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
        onChange={setRevision}
      />
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
