/** What the data is compared with: of the last hours, of a file, or nothing. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, FileButton, Menu } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { deleteBaseline, setBaseline, uploadBaseline } from "@/api/capture";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";

type Change = { title: string; label: string; text: string; run: () => Promise<unknown> };

export interface BaselineActionsProps {
  endpoint: string;
  deployment: string;
  hours: number;
  exists: boolean;
}

export function BaselineActions({ endpoint, deployment, hours, exists }: BaselineActionsProps) {
  const client = useQueryClient();
  const refusal = useRefusal("deploy");
  const [change, setChange] = useState<Change | null>(null);
  const resetFile = useRef<() => void>(null);
  const replacing = (text: string) => (exists ? `${text} ${t`The baseline of before is gone then.`}` : text);
  const ofWindow: Change = {
    title: t`Set the baseline`,
    label: t`Compare with the last ${plural(hours, { one: "# hour", other: "# hours" })}`,
    text: replacing(
      t`From now on data is compared with what was captured in the last ${plural(hours, { one: "# hour", other: "# hours" })}.`,
    ),
    run: () => setBaseline(endpoint, deployment, hours),
  };
  const removal: Change = {
    title: t`Remove the baseline`,
    label: t`Remove the baseline`,
    text: t`Data is compared with nothing any more, and an alert of its drift is resolved.`,
    run: () => deleteBaseline(endpoint, deployment),
  };
  return (
    <>
      <FileButton
        resetRef={resetFile}
        accept=".jsonl,.ndjson"
        onChange={(file) => {
          resetFile.current?.();
          if (!file) return;
          setChange({
            title: t`Set the baseline`,
            label: t`Compare with ${file.name}`,
            text: replacing(t`From now on data is compared with the records of ${file.name}.`),
            run: () => uploadBaseline(endpoint, deployment, file),
          });
        }}
      >
        {({ onClick }) => (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button
                variant="default"
                disabled={refusal !== undefined}
                title={refusal}
                rightSection={<IconChevronDown size={15} aria-hidden />}
              >
                <Trans>Baseline</Trans>
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => setChange(ofWindow)}>{ofWindow.label}</Menu.Item>
              <Menu.Item onClick={onClick}>
                <Trans>Compare with a file…</Trans>
              </Menu.Item>
              {exists ? (
                <Menu.Item onClick={() => setChange(removal)}>
                  <Trans>Remove the baseline</Trans>
                </Menu.Item>
              ) : null}
            </Menu.Dropdown>
          </Menu>
        )}
      </FileButton>
      <ConfirmModal
        opened={change !== null}
        onClose={() => setChange(null)}
        title={change?.title ?? ""}
        confirmLabel={change?.label ?? ""}
        danger={change?.title === removal.title}
        onConfirm={async () => {
          if (change === null) return;
          await change.run();
          await client.invalidateQueries({ queryKey: keys.endpoints.allData(endpoint) });
          notifyDone(change.title === removal.title ? t`The baseline is removed` : t`The baseline is set`);
        }}
      >
        <p>{change?.text}</p>
      </ConfirmModal>
    </>
  );
}
