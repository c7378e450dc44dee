/** What can be done with a version and its model: deploy, download, archive, delete. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Checkbox, Menu } from "@mantine/core";
import { IconCode, IconDots, IconDownload, IconRocket, IconTrash, IconUpload } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { archiveModel, archiveVersion, deleteModel, deleteVersion, downloadPath, restoreModel, restoreVersion } from "@/api/models";
import { useRefusal } from "@/api/permissions";
import type { Model, ModelVersion } from "@/api/types";
import { paths } from "@/app/paths";
import { AsCodeButton, asCodeWords, showAsCode } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { LinkButton } from "@/components/link-button";
import { notifyDone } from "@/components/notify";
import { deleteRecipe, versionRecipe } from "../recipes";
import { ArchiveItem } from "./archiving";

type Asked = "version" | "model" | null;

export function VersionActions({ model, version }: { model: Model; version: ModelVersion }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const refusal = useRefusal("deploy");
  const [asked, setAsked] = useState<Asked>(null);
  const [force, setForce] = useState(false);
  const refresh = () => queryClient.invalidateQueries({ queryKey: keys.models.all });
  const { name } = model;
  const words = t`version ${version.version}`;
  const state = { name, version: version.version, versionArchived: version.archived, modelArchived: model.archived };
  return (
    <>
      <LinkButton
        {...paths.deploy({ model: name, version: version.version })}
        leftSection={<IconRocket size={16} />}
        disabled={refusal !== undefined}
        title={refusal}
      >
        <Trans>Deploy {words}</Trans>
      </LinkButton>
      <Menu>
        <Menu.Target>
          <ActionIcon aria-label={t`More actions`} variant="default">
            <IconDots size={17} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component="a" href={downloadPath(name, version.version)} download leftSection={<IconDownload size={16} />}>
            <Trans>Download as zip</Trans>
          </Menu.Item>
          <Menu.Item leftSection={<IconCode size={16} />} onClick={() => showAsCode(versionRecipe(state))}>
            {asCodeWords(versionRecipe(state))}
          </Menu.Item>
          <Menu.Item leftSection={<IconUpload size={16} />} disabled={refusal !== undefined} onClick={() => void navigate(paths.deploy())}>
            <Trans>Upload a new version</Trans>
          </Menu.Item>
          <Menu.Label>{words}</Menu.Label>
          <ArchiveItem
            what={words}
            archived={version.archived}
            archive={() => archiveVersion(name, version.version)}
            restore={() => restoreVersion(name, version.version)}
            onDone={refresh}
          />
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} disabled={refusal !== undefined} onClick={() => setAsked("version")}>
            <Trans>Delete {words}</Trans>
          </Menu.Item>
          <Menu.Label>
            <Trans>all versions of {name}</Trans>
          </Menu.Label>
          <ArchiveItem
            what={name}
            label={t`the model`}
            archived={model.archived}
            archive={() => archiveModel(name)}
            restore={() => restoreModel(name)}
            onDone={refresh}
          />
          <Menu.Item color="red" leftSection={<IconTrash size={16} />} disabled={refusal !== undefined} onClick={() => setAsked("model")}>
            <Trans>Delete the model</Trans>
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmModal
        opened={asked === "version"}
        onClose={() => setAsked(null)}
        title={t`Delete ${words} of ${name}`}
        confirmLabel={t`Delete ${words}`}
        danger
        onConfirm={async () => {
          await deleteVersion(name, version.version, force);
          await navigate(paths.model(name));
          await refresh();
          notifyDone(t`${words} of ${name} is deleted`);
        }}
      >
        <p>
          <Trans>Its files go for good, and its number is never given again. Archiving only hides it.</Trans>
        </p>
        {version.used_by.length > 0 ? (
          <p>
            <Trans>It runs on {version.used_by.join(", ")}: the server refuses while it does.</Trans>
          </p>
        ) : null}
        {version.aliases.length > 0 ? (
          <Checkbox
            label={t`Also drop ${version.aliases.map((alias) => `@${alias}`).join(", ")}`}
            checked={force}
            onChange={(event) => setForce(event.currentTarget.checked)}
          />
        ) : null}
        <AsCodeButton recipe={() => deleteRecipe(name, version.version, force)} />
      </ConfirmModal>
      <ConfirmModal
        opened={asked === "model"}
        onClose={() => setAsked(null)}
        title={t`Delete ${name}`}
        confirmLabel={t`Delete ${name}`}
        danger
        typeToConfirm={model.used_by.length > 0 ? name : undefined}
        onConfirm={async () => {
          await deleteModel(name);
          await navigate(paths.models());
          await refresh();
          notifyDone(t`${name} is deleted`);
        }}
      >
        <p>
          <Trans>All versions and their files go. This cannot be undone; archiving only hides the model.</Trans>
        </p>
        {model.used_by.length > 0 ? (
          <p>
            <Trans>It is deployed on {model.used_by.join(", ")}: delete those deployments first.</Trans>
          </p>
        ) : null}
        <AsCodeButton recipe={() => deleteRecipe(name, null)} />
      </ConfirmModal>
    </>
  );
}
