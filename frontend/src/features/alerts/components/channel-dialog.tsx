/** A new channel. The secret of a webhook's signature is shown once. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal, Select, TagsInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createChannel } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { ChannelInput } from "@/api/types";
import { ProblemCard } from "@/components/problem-card";
import { ShownOnce } from "@/components/shown-once";
import classes from "../alerts.module.css";

const KINDS: { value: ChannelInput["kind"]; label: string }[] = [
  { value: "webhook", label: t`Webhook, signed` },
  { value: "slack", label: t`Slack, or what speaks like it` },
  { value: "alertmanager", label: "Alertmanager" },
  { value: "email", label: t`E-mail` },
];

export function ChannelDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<ChannelInput["kind"]>("webhook");
  const [url, setUrl] = useState("");
  const [recipients, setRecipients] = useState<string[]>([]);
  const [severity, setSeverity] = useState("all");
  const create = useMutation({
    mutationFn: () =>
      createChannel({
        name: name.trim(),
        kind,
        ...(kind === "email" ? { recipients } : { url: url.trim() }),
        severities: severity === "page" ? ["page"] : [],
      }),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: keys.alerts.channels });
      if (!made.secret) onClose();
    },
  });
  const made = create.data;
  const nowhere = kind === "email" ? recipients.length === 0 : url.trim() === "";
  return (
    <Modal opened onClose={onClose} title={t`Add a channel`} size={520} closeButtonProps={{ "aria-label": t`Close` }}>
      {made ? (
        <div className={classes["form"]}>
          <ShownOnce text={made.secret} label={t`secret`}>
            <Trans>
              The secret of the signatures of <b>{made.name}</b> is shown only now. Whoever receives its messages checks them with it.
            </Trans>
          </ShownOnce>
          <div className={classes["buttons"]}>
            <Button onClick={onClose}>
              <Trans>Done</Trans>
            </Button>
          </div>
        </div>
      ) : (
        <form
          className={classes["form"]}
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <TextInput label={t`Name`} value={name} maxLength={32} data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
          <Select
            label={t`Kind`}
            data={KINDS}
            value={kind}
            onChange={(value) => setKind(KINDS.find((one) => one.value === value)?.value ?? "webhook")}
            allowDeselect={false}
          />
          {kind === "email" ? (
            <TagsInput label={t`Addresses`} value={recipients} onChange={setRecipients} />
          ) : (
            <TextInput
              label="URL"
              description={t`It is sealed, and never shown again`}
              value={url}
              onChange={(event) => setUrl(event.currentTarget.value)}
            />
          )}
          <Select
            label={t`It is told`}
            data={[
              { value: "all", label: t`every alert` },
              { value: "page", label: t`only what somebody should look at once (page)` },
            ]}
            value={severity}
            onChange={(value) => setSeverity(value ?? "all")}
            allowDeselect={false}
          />
          {create.error ? <ProblemCard error={create.error} title={t`The channel was not added`} /> : null}
          <div className={classes["buttons"]}>
            <Button variant="default" onClick={onClose}>
              <Trans>Cancel</Trans>
            </Button>
            <Button type="submit" disabled={name.trim() === "" || nowhere} loading={create.isPending}>
              <Trans>Add it</Trans>
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}
