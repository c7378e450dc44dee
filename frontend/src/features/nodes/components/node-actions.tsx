/** Taking a node out of service and back, from its page and from the list. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Menu } from "@mantine/core";
import { IconArrowsRight, IconDotsVertical, IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { cordonNode, deleteNode, uncordonNode } from "@/api/nodes";
import { useRefusal } from "@/api/permissions";
import type { NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone, notifyProblem } from "@/components/notify";
import { cordonRecipe } from "../recipes";
import { DrainModal } from "./drain-modal";

function useCordon(node: NodeItem) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => (node.cordoned ? uncordonNode(node.name) : cordonNode(node.name)),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.nodes.all });
      notifyDone(node.cordoned ? t`${node.name} takes new replicas again` : t`${node.name} takes nothing new`);
    },
    onError: (error) => notifyProblem(error, t`${node.name} could not be changed`),
  });
}

function RemoveModal({ node, opened, onClose }: { node: NodeItem; opened: boolean; onClose: () => void }) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const busy = node.replicas.length > 0;
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={t`Remove ${node.name}`}
      confirmLabel={t`Remove ${node.name}`}
      danger
      typeToConfirm={busy ? node.name : undefined}
      onConfirm={async () => {
        await deleteNode(node.name, busy);
        await navigate(paths.nodes());
        await queryClient.invalidateQueries({ queryKey: keys.nodes.all });
        notifyDone(t`${node.name} is removed`);
      }}
    >
      <p>
        <Trans>Its credential stops working. To come back it must join again with a new token.</Trans>
      </p>
      {busy ? (
        <p>
          {plural(node.replicas.length, {
            one: "It runs # replica, which ends with it. Drain it first, and it answers elsewhere before that.",
            other: "It runs # replicas, which end with it. Drain it first, and they answer elsewhere before that.",
          })}
        </p>
      ) : null}
    </ConfirmModal>
  );
}

export function NodeActions({ node }: { node: NodeItem }) {
  const refusal = useRefusal("operate");
  const [removing, setRemoving] = useState(false);
  const [draining, setDraining] = useState(false);
  const cordon = useCordon(node);
  const off = refusal !== undefined;
  return (
    <>
      <AsCodeButton recipe={() => cordonRecipe(node.name, node.cordoned ? "uncordon" : "cordon")} />
      <Button
        variant="default"
        leftSection={node.cordoned ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
        loading={cordon.isPending}
        disabled={off}
        title={refusal}
        onClick={() => cordon.mutate()}
      >
        {node.cordoned ? t`Uncordon` : t`Cordon`}
      </Button>
      <Button
        variant="default"
        leftSection={<IconArrowsRight size={15} />}
        disabled={off || (node.drain !== null && !node.drain.done)}
        title={refusal}
        onClick={() => setDraining(true)}
      >
        <Trans>Drain</Trans>
      </Button>
      <Button variant="default" leftSection={<IconTrash size={15} />} disabled={off} title={refusal} onClick={() => setRemoving(true)}>
        <Trans>Remove</Trans>
      </Button>
      {draining ? <DrainModal names={[node.name]} onClose={() => setDraining(false)} /> : null}
      <RemoveModal node={node} opened={removing} onClose={() => setRemoving(false)} />
    </>
  );
}

/** The same in the list's last column. */
export function NodeMenu({ node }: { node: NodeItem }) {
  const [removing, setRemoving] = useState(false);
  const [draining, setDraining] = useState(false);
  const cordon = useCordon(node);
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon aria-label={t`Actions for ${node.name}`}>
            <IconDotsVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => cordon.mutate()}>{node.cordoned ? t`Uncordon` : t`Cordon`}</Menu.Item>
          <Menu.Item onClick={() => setDraining(true)}>
            <Trans>Drain</Trans>
          </Menu.Item>
          <Menu.Item onClick={() => setRemoving(true)}>
            <Trans>Remove</Trans>
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {draining ? <DrainModal names={[node.name]} onClose={() => setDraining(false)} /> : null}
      <RemoveModal node={node} opened={removing} onClose={() => setRemoving(false)} />
    </>
  );
}
