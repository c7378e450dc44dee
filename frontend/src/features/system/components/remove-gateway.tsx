/** Saying that a silent gateway serves no more. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { apiPath } from "@/api/paths";
import { useRefusal } from "@/api/permissions";
import { deleteGateway } from "@/api/system";
import { AsCodeButton, type Recipe } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";

const recipe = (name: string): Recipe => ({
  title: t`Remove gateway ${name}`,
  cli: [["shoal", "gateway", "remove", name]],
  api: [{ method: "DELETE", path: apiPath("gateways", name) }],
});

export function RemoveGateway({ name }: { name: string }) {
  const queryClient = useQueryClient();
  const refusal = useRefusal("operate");
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size="xs"
        mt={6}
        leftSection={<IconTrash size={14} />}
        disabled={refusal !== undefined}
        title={refusal}
        onClick={() => setAsking(true)}
      >
        <Trans>Remove</Trans>
      </Button>
      <ConfirmModal
        opened={asking}
        onClose={() => setAsking(false)}
        title={t`Remove gateway ${name}`}
        confirmLabel={t`Remove ${name}`}
        danger
        typeToConfirm={name}
        onConfirm={async () => {
          await deleteGateway(name);
          await queryClient.invalidateQueries({ queryKey: keys.system });
          notifyDone(t`Gateway ${name} is removed`);
        }}
      >
        <p>
          <Trans>
            Remove it only if its Envoy has ended: one that runs goes on taking the keys that it has, and nothing here will say so any more.
          </Trans>
        </p>
        <AsCodeButton wide recipe={() => recipe(name)} />
      </ConfirmModal>
    </>
  );
}
