/** What can be done with a model: deploy, archive, delete. */
import { ActionIcon, Menu } from "@mantine/core";
import { IconArchive, IconArchiveOff, IconDots, IconRocket, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { archiveModel, deleteModel, restoreModel } from "@/api/models";
import type { Model } from "@/api/types";
import { paths } from "@/app/paths";
import { ConfirmModal } from "@/components/confirm-modal";
import { LinkButton } from "@/components/link-button";
import { notifyDone, notifyProblem } from "@/components/notify";

export function VersionActions({ model, version }: { model: Model; version: number }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [deleting, setDeleting] = useState(false);
  const refresh = () => queryClient.invalidateQueries({ queryKey: keys.models.all });
  const archive = useMutation({
    mutationFn: () => (model.archived ? restoreModel(model.name) : archiveModel(model.name)),
    onSuccess: async () => {
      await refresh();
      notifyDone(model.archived ? `${model.name} is back` : `${model.name} is archived`);
    },
    onError: (error) => notifyProblem(error, `${model.name} could not be ${model.archived ? "restored" : "archived"}`),
  });
  return (
    <>
      <LinkButton {...paths.deploy({ model: model.name, version })} leftSection={<IconRocket size={16} />}>
        Deploy version {version}
      </LinkButton>
      <Menu>
        <Menu.Target>
          <ActionIcon aria-label="More actions" variant="default">
            <IconDots size={17} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={model.archived ? <IconArchiveOff size={16} /> : <IconArchive size={16} />}
            onClick={() => archive.mutate()}
          >
            {model.archived ? "Restore" : "Archive"}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setDeleting(true)}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmModal
        opened={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${model.name}`}
        confirmLabel={`Delete ${model.name}`}
        danger
        typeToConfirm={model.used_by.length > 0 ? model.name : undefined}
        onConfirm={async () => {
          await deleteModel(model.name);
          await refresh();
          notifyDone(`${model.name} is deleted`);
          await navigate(paths.models());
        }}
      >
        <p>All versions and their files go. This cannot be undone; archiving only hides the model.</p>
        {model.used_by.length > 0 ? <p>It is deployed on {model.used_by.join(", ")}: delete those deployments first.</p> : null}
      </ConfirmModal>
    </>
  );
}
