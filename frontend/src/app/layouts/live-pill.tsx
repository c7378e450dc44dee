/** What the live link does, in one word; changes are announced, values are not. */
import { Tooltip } from "@mantine/core";
import { Status, type Tone } from "@/components/status";
import { useLiveState } from "@/live/hooks";
import type { LiveState } from "@/live/socket";
import classes from "./shell.module.css";

/** `more` is left out where the bar is as narrow as a phone. */
const WORDS: Record<LiveState, { word: string; more?: string; tone: Tone; detail: string }> = {
  idle: { word: "Live", tone: "ok", detail: "Ready: nothing on this page needs the live link" },
  connecting: { word: "Connecting", tone: "info", detail: "Opening the live link" },
  live: { word: "Live", tone: "ok", detail: "Values arrive twice a second" },
  polling: { word: "Polling", tone: "warn", detail: "The live link is interrupted; values are asked for every 3 seconds" },
  reconnecting: { word: "Reconnecting", more: ", data paused", tone: "warn", detail: "The live link was lost; trying again" },
  offline: { word: "Offline", tone: "error", detail: "The server does not answer; still trying" },
  "signed-out": { word: "Signed out", tone: "error", detail: "The session has ended; sign in again" },
};

export function LivePill() {
  const { word, more, tone, detail } = WORDS[useLiveState()];
  return (
    <Tooltip label={detail}>
      <span role="status" aria-live="polite">
        <Status state={word} tone={tone}>
          {more ? <span className={classes["pillMore"]}>{more}</span> : null}
        </Status>
      </span>
    </Tooltip>
  );
}
