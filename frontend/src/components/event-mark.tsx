/** How an event went, before its words: a tick, a triangle or a cross; a dot where it is only said. */
import { t } from "@lingui/core/macro";
import type { EventItem } from "@/api/types";
import classes from "./event-mark.module.css";
import { ToneIcon } from "./status";

const WENT_WELL = /ready|succeeded|created|online|healthy|routed|registered|joined/;

export function EventMark({ event }: { event: Pick<EventItem, "severity" | "verb"> }) {
  if (event.severity === "error") return <ToneIcon tone="error" label={t`error`} size={14} />;
  if (event.severity === "warning") return <ToneIcon tone="warn" label={t`warning`} size={14} />;
  if (WENT_WELL.test(event.verb)) return <ToneIcon tone="ok" label={t`went well`} size={14} />;
  return <span className={classes["dot"]} role="img" aria-label={t({ message: "info", context: "severity" })} />;
}
