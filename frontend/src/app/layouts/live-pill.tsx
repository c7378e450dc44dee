/** What the live link does, in one word; changes are announced, values are not. */
import { t } from "@lingui/core/macro";
import { Tooltip } from "@mantine/core";
import { Status, type Tone } from "@/components/status";
import { useLiveState } from "@/live/hooks";
import type { LiveState } from "@/live/socket";
import classes from "./shell.module.css";

/** `more` is left out where the bar is as narrow as a phone. */
const WORDS: Record<LiveState, { word: string; more?: string; tone: Tone; detail: string }> = {
  idle: { word: t`Live`, tone: "ok", detail: t`Ready: nothing on this page needs the live link` },
  connecting: { word: t`Connecting`, tone: "info", detail: t`Opening the live link` },
  live: { word: t`Live`, tone: "ok", detail: t`Values arrive twice a second` },
  polling: { word: t`Polling`, tone: "warn", detail: t`The live link is interrupted; values are asked for every 3 seconds` },
  reconnecting: { word: t`Reconnecting`, more: t`, data paused`, tone: "warn", detail: t`The live link was lost; trying again` },
  offline: { word: t`Offline`, tone: "error", detail: t`The server does not answer; still trying` },
  "signed-out": { word: t`Signed out`, tone: "error", detail: t`The session has ended; sign in again` },
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
