/** Description and deletion of an endpoint. */
import { Button, Textarea } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteEndpoint, updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone, notifyProblem } from "@/components/notify";
import { useEndpoint } from "../hooks/use-endpoint";
import classes from "./settings-tab.module.css";

export function SettingsTab() {
  const endpoint = useEndpoint();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [description, setDescription] = useState(endpoint.description);
  const [deleting, setDeleting] = useState(false);
  const save = useMutation({
    mutationFn: () => updateEndpoint(endpoint.name, { description }),
    onSuccess: (updated) => {
      queryClient.setQueryData(keys.endpoints.one(endpoint.name), updated);
      notifyDone("The description is saved");
    },
    onError: (error) => notifyProblem(error, "The description could not be saved"),
  });
  const busy = Object.values(endpoint.traffic).some((share) => share > 0);
  return (
    <div className={classes["stack"]}>
      <Card title="Description">
        <Textarea
          aria-label="Description"
          autosize
          minRows={2}
          maxRows={8}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <div className={classes["actions"]}>
          <Button disabled={description === endpoint.description} loading={save.isPending} onClick={() => save.mutate()}>
            Save the description
          </Button>
        </div>
      </Card>
      <Card title="Access">
        <p className={classes["text"]}>
          Requests need one of the endpoint&apos;s keys (mode <span className="mono">{endpoint.auth_mode}</span>). Keys are
          checked at the gateway by their hash.
        </p>
      </Card>
      <Card title="Delete this endpoint">
        <p className={classes["text"]}>
          The URL, the keys and all {endpoint.deployments.length} deployments go; models stay registered. This cannot be undone.
        </p>
        <div className={classes["actions"]}>
          <Button color="red" variant="outline" leftSection={<IconTrash size={15} />} onClick={() => setDeleting(true)}>
            Delete {endpoint.name}
          </Button>
        </div>
      </Card>
      <ConfirmModal
        opened={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${endpoint.name}`}
        confirmLabel={`Delete ${endpoint.name}`}
        danger
        typeToConfirm={endpoint.name}
        onConfirm={async () => {
          await deleteEndpoint(endpoint.name);
          notifyDone(`${endpoint.name} is being deleted`);
          await navigate(paths.endpoints());
          await queryClient.invalidateQueries({ queryKey: keys.endpoints.all });
        }}
      >
        <p>
          {busy ? <b>It receives traffic now. </b> : null}
          Callers will be answered 404 from then on.
        </p>
      </ConfirmModal>
    </div>
  );
}
