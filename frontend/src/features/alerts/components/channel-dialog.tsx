/** A new channel. The secret of a webhook's signature is shown once. */
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
  { value: "webhook", label: "Webhook, signed" },
  { value: "slack", label: "Slack, or what speaks like it" },
  { value: "alertmanager", label: "Alertmanager" },
  { value: "email", label: "E-mail" },
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
  return (
    <Modal opened onClose={onClose} title="Add a channel" size={520} closeButtonProps={{ "aria-label": "Close" }}>
      {made ? (
        <div className={classes["form"]}>
          <ShownOnce text={made.secret} label="secret">
            The secret of the signatures of <b>{made.name}</b> is shown only now. Whoever receives its messages checks them with it.
          </ShownOnce>
          <div className={classes["buttons"]}>
            <Button onClick={onClose}>Done</Button>
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
          <TextInput label="Name" value={name} maxLength={32} data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
          <Select
            label="Kind"
            data={KINDS}
            value={kind}
            onChange={(value) => setKind(KINDS.find((one) => one.value === value)?.value ?? "webhook")}
            allowDeselect={false}
          />
          {kind === "email" ? (
            <TagsInput label="Addresses" value={recipients} onChange={setRecipients} />
          ) : (
            <TextInput
              label="URL"
              description="It is sealed, and never shown again"
              value={url}
              onChange={(event) => setUrl(event.currentTarget.value)}
            />
          )}
          <Select
            label="It is told"
            data={[
              { value: "all", label: "every alert" },
              { value: "page", label: "only what somebody should look at once (page)" },
            ]}
            value={severity}
            onChange={(value) => setSeverity(value ?? "all")}
            allowDeselect={false}
          />
          {create.error ? <ProblemCard error={create.error} title="The channel was not added" /> : null}
          <div className={classes["buttons"]}>
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" disabled={name.trim() === ""} loading={create.isPending}>
              Add it
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}
