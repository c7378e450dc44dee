/** What the data is compared with, of the last hours, of a file, or nothing; and how many hours are held against it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, FileButton, Menu, NumberInput } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { deleteBaseline, setBaseline, setBaselineWindow, uploadBaseline } from "@/api/capture";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { CaptureStatistics } from "@/api/types";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";

/** As the server has it. */
const LONGEST_HOURS = 168;
const DEFAULT_HOURS = 24;

interface Change {
  title: string;
  label: string;
  text: string;
  done: string;
  /** What is asked for with it: hours that are held against the baseline. */
  withWindow: boolean;
  run: (windowHours: number) => Promise<unknown>;
}

const whole = (typed: number | string): number | undefined =>
  typeof typed === "number" && Number.isInteger(typed) && typed >= 1 && typed <= LONGEST_HOURS ? typed : undefined;

export interface BaselineActionsProps {
  endpoint: string;
  deployment: string;
  /** Those that are shown. */
  hours: number;
  baseline: CaptureStatistics["baseline"];
}

export function BaselineActions({ endpoint, deployment, hours, baseline }: BaselineActionsProps) {
  const client = useQueryClient();
  const refusal = useRefusal("deploy");
  const [change, setChange] = useState<Change | null>(null);
  const [typed, setTyped] = useState<number | string>(DEFAULT_HOURS);
  const resetFile = useRef<() => void>(null);
  const begin = (next: Change) => {
    setTyped(baseline?.window_hours ?? DEFAULT_HOURS);
    setChange(next);
  };
  const replacing = (text: string) => (baseline ? `${text} ${t`The baseline of before is gone then.`}` : text);
  // As it was when the dialog was opened: what others have made of it since is not written over.
  const seen = baseline?.etag;
  const set = { title: t`Set the baseline`, done: t`The baseline is set`, withWindow: true };
  const ofWindow: Change = {
    ...set,
    label: t`Compare with the last ${plural(hours, { one: "# hour", other: "# hours" })}`,
    text: replacing(
      t`From now on data is compared with what was captured in the last ${plural(hours, { one: "# hour", other: "# hours" })}, which is left out of it.`,
    ),
    run: (windowHours) => setBaseline(endpoint, deployment, hours, windowHours, seen),
  };
  const another: Change = {
    title: t`Change the window`,
    label: t`Change the window`,
    text: t`The baseline stays. Statistics and the alert go by the new window at once.`,
    done: t`The window is changed`,
    withWindow: true,
    run: (windowHours) => setBaselineWindow(endpoint, deployment, windowHours, seen),
  };
  const removal: Change = {
    title: t`Remove the baseline`,
    label: t`Remove the baseline`,
    text: t`Data is compared with nothing any more, and an alert of its drift is resolved.`,
    done: t`The baseline is removed`,
    withWindow: false,
    run: () => deleteBaseline(endpoint, deployment, seen),
  };
  const window = whole(typed);
  return (
    <>
      <FileButton
        resetRef={resetFile}
        accept=".jsonl,.ndjson"
        onChange={(file) => {
          resetFile.current?.();
          if (!file) return;
          begin({
            ...set,
            label: t`Compare with ${file.name}`,
            text: replacing(t`From now on data is compared with the records of ${file.name}.`),
            run: (windowHours) => uploadBaseline(endpoint, deployment, file, windowHours, seen),
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
              <Menu.Item onClick={() => begin(ofWindow)}>{ofWindow.label}</Menu.Item>
              <Menu.Item onClick={onClick}>
                <Trans>Compare with a file…</Trans>
              </Menu.Item>
              {baseline ? (
                <>
                  <Menu.Item onClick={() => begin(another)}>
                    <Trans>Change the window…</Trans>
                  </Menu.Item>
                  <Menu.Item onClick={() => begin(removal)}>
                    <Trans>Remove the baseline</Trans>
                  </Menu.Item>
                </>
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
        blocked={change?.withWindow === true && window === undefined}
        onConfirm={async () => {
          if (change === null) return;
          try {
            await change.run(window ?? DEFAULT_HOURS);
          } finally {
            await client.invalidateQueries({ queryKey: keys.endpoints.allData(endpoint) });
          }
          notifyDone(change.done);
        }}
      >
        <p>{change?.text}</p>
        {change?.withWindow ? (
          <NumberInput
            label={t`Hours that are compared`}
            description={t`The last so many, until now; 1 to ${LONGEST_HOURS}. The alert of drift looks at the same.`}
            error={window === undefined ? t`Expected a whole number from 1 to ${LONGEST_HOURS}` : undefined}
            clampBehavior="none"
            allowNegative={false}
            value={typed}
            onChange={setTyped}
          />
        ) : null}
      </ConfirmModal>
    </>
  );
}
