/** Whether the draft is on the server, beside the title. */
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
        <Status
          state={state.at === null ? "Draft saved" : `Draft saved ${relativeTime(new Date(state.at).toISOString(), now)}`}
          tone="idle"
        />
      );
    case "waiting":
    case "saving":
      return <Status state="Saving the draft" tone="info" />;
    case "conflict":
      return <Status state="Draft changed elsewhere" tone="warn" />;
    case "failed":
      return (
        <>
          <Status state="Draft not saved" tone="error" title={problemText(state.error)} />
          <Button variant="default" onClick={onRetry}>
            Save again
          </Button>
        </>
      );
  }
}

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
      <ToneIcon tone="warn" label="Changed elsewhere" />
      <span>This draft was changed in another browser or tab. Nothing more is saved until you choose.</span>
      <Button variant="default" onClick={onLoad}>
        Load the other
      </Button>
      <Button onClick={onKeep}>Keep mine</Button>
    </div>
  );
}
