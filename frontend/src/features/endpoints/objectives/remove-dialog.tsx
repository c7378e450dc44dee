/** Removes an objective as one has seen it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { deleteObjective } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { Endpoint } from "@/api/types";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { OvertakenNote, type Send } from "@/components/saving";
import { promised, promiseNow, useObjectiveSaving } from "./objective-saving";

export function RemoveDialog({ endpoint, name, onClose }: { endpoint: Endpoint; name: string; onClose: () => void }) {
  const client = useQueryClient();
  const saving = useObjectiveSaving(endpoint, name);
  const remove: Send<Endpoint, unknown> = async (_, over) => {
    // why: who was faster may have removed it as well
    if (promised(over, name)) await deleteObjective(endpoint.name, name, over.etag);
    await client.invalidateQueries({ queryKey: keys.endpoints.one(endpoint.name) });
    notifyDone(t`${name} is removed`);
    onClose();
  };
  return (
    <ConfirmModal
      opened
      onClose={onClose}
      title={t`Remove ${name}`}
      confirmLabel={t`Remove ${name}`}
      danger
      blocked={saving.overtaken !== null}
      onConfirm={() => saving.sendNow(remove)}
    >
      <p>
        <Trans>Nobody is told any more when it is missed, and an alert of it is resolved. The metrics stay.</Trans>
      </p>
      <OvertakenNote
        saving={saving}
        now={(current) => promiseNow(current, name)}
        takeLabel={t`Leave it`}
        overLabel={t`Remove it all the same`}
        onTake={onClose}
      />
    </ConfirmModal>
  );
}
