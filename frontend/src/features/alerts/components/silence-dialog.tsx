/** Tell nobody of one alert for a while. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createSilence } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { Alert } from "@/api/types";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { serverText } from "@/i18n/server-text";
import { endsIn, SPANS, subjectOf } from "../words";

export function SilenceDialog({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const client = useQueryClient();
  const [hours, setHours] = useState("1");
  const [scope, setScope] = useState("rule");
  const [reason, setReason] = useState("");
  const { text } = subjectOf(alert);
  const title = serverText(alert.title);
  return (
    <ConfirmModal
      opened
      onClose={onClose}
      title={t`Silence ${text}`}
      confirmLabel={t`Silence`}
      blocked={reason.trim() === ""}
      onConfirm={async () => {
        await createSilence({
          subject: alert.subject,
          rule: scope === "rule" ? alert.rule : "",
          reason: reason.trim(),
          ends_at: endsIn(Number(hours)),
        });
        await client.invalidateQueries({ queryKey: keys.alerts.all });
        notifyDone(t`${text} is silenced`);
      }}
    >
      <p>
        <Trans>No channel is told until it ends. What still fires then is told.</Trans>
      </p>
      <Select
        label={t`Of it`}
        data={[
          { value: "rule", label: t`only: ${title}` },
          { value: "all", label: t`every alert` },
        ]}
        value={scope}
        onChange={(value) => setScope(value ?? "rule")}
        allowDeselect={false}
      />
      <Select label={t`For`} data={SPANS} value={hours} onChange={(value) => setHours(value ?? "1")} allowDeselect={false} />
      <TextInput label={t`Reason`} maxLength={500} required value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
    </ConfirmModal>
  );
}
