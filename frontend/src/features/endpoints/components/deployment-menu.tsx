/** What can be done with one deployment: test, logs, scale, delete. */
import { ActionIcon, Menu, NumberInput } from "@mantine/core";
import { IconArrowsDiff, IconDots, IconFileText, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteDeployment, scaleDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import type { Deployment, Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";

export function DeploymentMenu({ endpoint, deployment }: { endpoint: Endpoint; deployment: Deployment }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [dialog, setDialog] = useState<"scale" | "delete" | null>(null);
  const [instances, setInstances] = useState(deployment.instance_count);
  const share = endpoint.traffic[deployment.name] ?? 0;
  const refresh = () => queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint.name) });
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon size={26} aria-label={`Actions for ${deployment.name}`}>
            <IconDots size={17} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconPlayerPlay size={16} />}
            onClick={() => void navigate({ ...paths.endpointTab(endpoint.name, "test"), search: { dep: deployment.name } })}
          >
            Test directly
          </Menu.Item>
          <Menu.Item
            leftSection={<IconFileText size={16} />}
            onClick={() => void navigate(paths.endpointLogs(endpoint.name, deployment.name))}
          >
            Logs
          </Menu.Item>
          <Menu.Item
            leftSection={<IconArrowsDiff size={16} />}
            onClick={() => {
              setInstances(deployment.instance_count);
              setDialog("scale");
            }}
          >
            Scale
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setDialog("delete")}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmModal
        opened={dialog === "scale"}
        onClose={() => setDialog(null)}
        title={`Scale ${deployment.name}`}
        confirmLabel={`Run ${instances} ${instances === 1 ? "instance" : "instances"}`}
        onConfirm={async () => {
          await scaleDeployment(endpoint.name, deployment.name, instances);
          await refresh();
          notifyDone(`${deployment.name} is being scaled to ${instances}`);
        }}
      >
        <NumberInput
          label="Instances"
          description="Each instance is one runtime process with its own copy of the model."
          value={instances}
          min={1}
          max={64}
          onChange={(value) => setInstances(Number(value) || 1)}
          data-autofocus
        />
      </ConfirmModal>
      <ConfirmModal
        opened={dialog === "delete"}
        onClose={() => setDialog(null)}
        title={`Delete ${deployment.name}`}
        confirmLabel={`Delete ${deployment.name}`}
        danger
        typeToConfirm={share > 0 ? deployment.name : undefined}
        onConfirm={async () => {
          await deleteDeployment(endpoint.name, deployment.name, share > 0);
          await refresh();
          notifyDone(`${deployment.name} is being deleted`);
        }}
      >
        <p>
          Its {deployment.instance_count === 1 ? "instance is" : `${deployment.instance_count} instances are`} drained and
          stopped. The model version stays registered.
        </p>
        {share > 0 ? (
          <p>
            <b>{deployment.name} receives {share} % of the traffic.</b> Those requests will be refused unless you move the
            traffic first.
          </p>
        ) : null}
      </ConfirmModal>
    </>
  );
}
