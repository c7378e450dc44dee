/** Where alerts are told: each channel with a test, and what was sent to it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Menu } from "@mantine/core";
import { IconPlus, IconSend } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { channelsQuery, deleteChannel, setChannelEnabled, testChannel } from "@/api/alerts";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Channel } from "@/api/types";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { Forbidden, LoadProblem } from "@/components/forbidden";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { Status } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { cameOf } from "../words";
import { ChannelDialog } from "./channel-dialog";
import { DeliveriesCard } from "./deliveries-card";

export function ChannelsList() {
  const client = useQueryClient();
  const hidden = useRefusal("operate");
  const edits = useRefusal("administer") === undefined;
  const { data, error, isPending, refetch } = useQuery({ ...channelsQuery(), enabled: hidden === undefined });
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  const fresh = () => client.invalidateQueries({ queryKey: keys.alerts.channels });
  const test = useMutation({
    mutationFn: testChannel,
    onSuccess: async (sent) => {
      await fresh();
      if (sent.status === "delivered") notifyDone(t`${sent.channel} took the test: ${cameOf(sent)}`);
      else notifyProblem(new Error(cameOf(sent)), t`${sent.channel} did not take the test`);
    },
    onError: (problem) => notifyProblem(problem, t`The test was not sent`),
  });
  const turn = useMutation({
    mutationFn: (row: Channel) => setChannelEnabled(row.name, !row.enabled),
    onSuccess: fresh,
    onError: (problem) => notifyProblem(problem, t`The channel was not changed`),
  });
  if (hidden) return <Forbidden needs="operate" what={t`The channels`} />;
  if (error && !data) return <LoadProblem error={error} what={t`The channels`} needs="operate" onRetry={() => void refetch()} />;
  const columns: Column<Channel>[] = [
    { id: "name", header: t`Name`, cell: (row) => <b>{row.name}</b> },
    { id: "kind", header: t`Kind`, cell: (row) => `${row.kind}${row.signed ? t`, signed` : ""}` },
    { id: "where", header: t`Where`, cell: (row) => row.address || row.recipients.join(", ") },
    { id: "told", header: t`It is told`, hideBelow: "md", cell: (row) => row.severities.join(", ") || t`every alert` },
    { id: "projects", header: t`Of projects`, hideBelow: "lg", cell: (row) => row.projects.join(", ") || t`all` },
    { id: "on", header: t`State`, cell: (row) => <Status state={row.enabled ? t`on` : t`off`} tone={row.enabled ? "ok" : "idle"} /> },
    actionsColumn((row) => (
      <RowMenu of={row.name}>
        <Menu.Item disabled={test.isPending} onClick={() => test.mutate(row.name)}>
          <Trans>Send a test</Trans>
        </Menu.Item>
        <Menu.Item onClick={() => setShown(row.name)}>
          <Trans>What was sent</Trans>
        </Menu.Item>
        <Menu.Item disabled={!edits} onClick={() => turn.mutate(row)}>
          {row.enabled ? t`Turn off` : t`Turn on`}
        </Menu.Item>
        <Menu.Item disabled={!edits} onClick={() => setLeaving(row.name)}>
          <Trans>Remove</Trans>
        </Menu.Item>
      </RowMenu>
    )),
  ];
  return (
    <>
      <div className={toolbar["toolbar"]}>
        <RefusingButton needs="administer" leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
          <Trans>Add a channel</Trans>
        </RefusingButton>
      </div>
      <Card flush>
        <DataTable
          label={t`Channels`}
          columns={columns}
          rows={data}
          rowKey={(row) => row.name}
          loading={isPending}
          empty={
            <EmptyState
              icon={<IconSend size={30} stroke={1.4} />}
              title={t`Nobody is told of alerts yet`}
              detail={t`A channel is a webhook, Slack, Alertmanager or e-mail.`}
            />
          }
        />
      </Card>
      {shown ? <DeliveriesCard channel={shown} onClose={() => setShown(null)} /> : null}
      {adding ? <ChannelDialog onClose={() => setAdding(false)} /> : null}
      <ConfirmModal
        opened={leaving !== null}
        onClose={() => setLeaving(null)}
        title={t`Remove ${leaving ?? ""}`}
        confirmLabel={t`Remove ${leaving ?? ""}`}
        danger
        onConfirm={async () => {
          if (leaving === null) return;
          await deleteChannel(leaving);
          if (shown === leaving) setShown(null);
          await fresh();
          notifyDone(t`${leaving} is removed`);
        }}
      >
        <p>
          <Trans>Nothing is told there any more, and the log of what was sent goes with it.</Trans>
        </p>
      </ConfirmModal>
    </>
  );
}
