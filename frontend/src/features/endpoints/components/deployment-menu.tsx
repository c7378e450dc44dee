/** What can be done with one deployment: test, logs, update, roll out, restart, pause, scale, delete. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Menu } from "@mantine/core";
import {
  IconArrowsDiff,
  IconDots,
  IconFileText,
  IconPlayerPause,
  IconPlayerPlay,
  IconRotate,
  IconTrendingUp,
  IconTrash,
  IconVersions,
} from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useRefusal } from "@/api/permissions";
import type { Deployment, Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { DeleteDialog, PauseDialog, RestartDialog, ScaleDialog, startNow } from "./deployment-dialogs";
import { StartRolloutDialog } from "../rollout/start-dialog";
import { UpdateDialog } from "./update-dialog";

export function DeploymentMenu({ endpoint, deployment }: { endpoint: Endpoint; deployment: Deployment }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [dialog, setDialog] = useState<"scale" | "delete" | "pause" | "update" | "rollout" | "restart" | null>(null);
  const refusal = useRefusal("deploy");
  const off = { disabled: refusal !== undefined, title: refusal };
  const close = () => setDialog(null);
  const others = Object.entries(endpoint.traffic).some(([name, share]) => name !== deployment.name && share > 0);
  const shared = { endpoint, deployment, onClose: close };
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon size={26} aria-label={t`Actions for ${deployment.name}`}>
            <IconDots size={17} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconPlayerPlay size={16} />}
            onClick={() => void navigate({ ...paths.endpointTab(endpoint.name, "test"), search: { dep: deployment.name } })}
          >
            <Trans>Test directly</Trans>
          </Menu.Item>
          <Menu.Item
            leftSection={<IconFileText size={16} />}
            onClick={() => void navigate(paths.endpointLogs(endpoint.name, deployment.name))}
          >
            <Trans>Logs</Trans>
          </Menu.Item>
          <Menu.Item leftSection={<IconVersions size={16} />} {...off} onClick={() => setDialog("update")}>
            <Trans>Update to another version</Trans>
          </Menu.Item>
          {others ? (
            <Menu.Item leftSection={<IconTrendingUp size={16} />} {...off} onClick={() => setDialog("rollout")}>
              <Trans>Roll out step by step</Trans>
            </Menu.Item>
          ) : null}
          {deployment.paused ? (
            <Menu.Item
              leftSection={<IconPlayerPlay size={16} />}
              {...off}
              onClick={() => void startNow(queryClient, endpoint.name, deployment.name)}
            >
              <Trans context="command">Start</Trans>
            </Menu.Item>
          ) : (
            <>
              <Menu.Item leftSection={<IconRotate size={16} />} {...off} onClick={() => setDialog("restart")}>
                <Trans>Restart</Trans>
              </Menu.Item>
              <Menu.Item leftSection={<IconPlayerPause size={16} />} {...off} onClick={() => setDialog("pause")}>
                <Trans>Pause</Trans>
              </Menu.Item>
            </>
          )}
          <Menu.Item leftSection={<IconArrowsDiff size={16} />} {...off} onClick={() => setDialog("scale")}>
            <Trans>Scale</Trans>
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red" {...off} leftSection={<IconTrash size={16} />} onClick={() => setDialog("delete")}>
            <Trans>Delete</Trans>
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <UpdateDialog endpoint={endpoint.name} deployment={deployment} opened={dialog === "update"} onClose={close} />
      <StartRolloutDialog {...shared} opened={dialog === "rollout"} />
      <RestartDialog {...shared} opened={dialog === "restart"} />
      <PauseDialog {...shared} opened={dialog === "pause"} />
      <ScaleDialog {...shared} opened={dialog === "scale"} />
      <DeleteDialog {...shared} opened={dialog === "delete"} />
    </>
  );
}
