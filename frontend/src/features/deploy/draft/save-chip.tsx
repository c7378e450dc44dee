/** Whether the draft is on the server, beside the title. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useEffect, useState } from "react";
import { problemText } from "@/api/problem";
import { relativeTime } from "@/components/format";
import { Status, ToneIcon } from "@/components/status";
import classes from "./save-chip.module.css";
import type { SaveState } from "./autosave";

export function SaveChip({ state, onRetry }: { state: SaveState; onRetry: () => void }) {
  const now = useSeconds();
  switch (state.kind) {
    case "saved":
      return (
        <Status state={state.at === null ? t`Draft saved` : savedText(relativeTime(new Date(state.at).toISOString(), now))} tone="idle" />
      );
    case "waiting":
    case "saving":
      return <Status state={t`Saving the draft`} tone="info" />;
    case "conflict":
      return <Status state={t`Draft changed elsewhere`} tone="warn" />;
    case "failed":
      return (
        <>
          <Status state={t`Draft not saved`} tone="error" title={problemText(state.error)} />
          <Button variant="default" onClick={onRetry}>
            <Trans>Save again</Trans>
          </Button>
        </>
      );
  }
}

const savedText = (when: string): string => t`Draft saved ${when}`;

function useSeconds(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Two browsers had it open: one decides which text stays. */
export function ConflictBar({ onLoad, onKeep }: { onLoad: () => void; onKeep: () => void }) {
  return (
    <div className={classes["conflict"]} role="alert">
      <ToneIcon tone="warn" label={t`Changed elsewhere`} />
      <span>
        <Trans>This draft was changed in another browser or tab. Nothing more is saved until you choose.</Trans>
      </span>
      <Button variant="default" onClick={onLoad}>
        <Trans>Load the other</Trans>
      </Button>
      <Button onClick={onKeep}>
        <Trans>Keep mine</Trans>
      </Button>
    </div>
  );
}
