/** What can be done with one deployment: test, logs, scale, delete. */
import { ActionIcon, Menu, NumberInput } from "@mantine/core";
import { IconArrowsDiff, IconDots, IconFileText, IconPlayerPause, IconPlayerPlay, IconTrash, IconVersions } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteDeployment, pauseDeployment, scaleDeployment, startDeployment } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { Deployment, Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone, notifyProblem } from "@/components/notify";
import { UpdateDialog } from "./update-dialog";

export function DeploymentMenu({ endpoint, deployment }: { endpoint: Endpoint; deployment: Deployment }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [dialog, setDialog] = useState<"scale" | "delete" | "pause" | "update" | null>(null);
  const refusal = useRefusal("deploy");
  const off = refusal !== undefined;
  const [instances, setInstances] = useState(deployment.instance_count);
  const share = endpoint.traffic[deployment.name] ?? 0;
  const refresh = () => queryClient.invalidateQueries({ queryKey: keys.endpoints.one(endpoint.name) });
  const start = async () => {
    try {
      await startDeployment(endpoint.name, deployment.name);
      await refresh();
      notifyDone(`${deployment.name} is starting`);
    } catch (error) {
      notifyProblem(error, `${deployment.name} could not be started`);
    }
  };
  return (
    <>
      <UpdateDialog endpoint={endpoint.name} deployment={deployment} opened={dialog === "update"} onClose={() => setDialog(null)} />
      <ConfirmModal
        opened={dialog === "pause"}
        onClose={() => setDialog(null)}
        title={`Pause ${deployment.name}`}
        confirmLabel={`Pause ${deployment.name}`}
        danger={share > 0}
        typeToConfirm={share > 0 ? deployment.name : undefined}
        onConfirm={async () => {
          await pauseDeployment(endpoint.name, deployment.name, share > 0);
          await refresh();
          notifyDone(`${deployment.name} is being paused`);
        }}
      >
        <p>Its replicas are drained and stopped; version, settings and secrets stay. Start brings back as many replicas as now.</p>
        {share > 0 ? (
          <p>
            <b>{deployment.name} receives {share} % of the traffic.</b> Those requests will be refused unless you move the traffic first.
          </p>
        ) : null}
      </ConfirmModal>
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
          <Menu.Item leftSection={<IconVersions size={16} />} disabled={off} title={refusal} onClick={() => setDialog("update")}>
            Update to another version
          </Menu.Item>
          {deployment.paused ? (
            <Menu.Item leftSection={<IconPlayerPlay size={16} />} disabled={off} title={refusal} onClick={() => void start()}>
              Start
            </Menu.Item>
          ) : (
            <Menu.Item leftSection={<IconPlayerPause size={16} />} disabled={off} title={refusal} onClick={() => setDialog("pause")}>
              Pause
            </Menu.Item>
          )}
          <Menu.Item
            disabled={off} title={refusal}
            leftSection={<IconArrowsDiff size={16} />}
            onClick={() => {
              setInstances(deployment.instance_count);
              setDialog("scale");
            }}
          >
            Scale
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red" disabled={off} title={refusal} leftSection={<IconTrash size={16} />} onClick={() => setDialog("delete")}>
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
