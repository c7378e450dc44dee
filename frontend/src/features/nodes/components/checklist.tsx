/** Checks that tick themselves off. */
import { t } from "@lingui/core/macro";
import { IconAlertTriangle, IconCheck, IconLoader2, IconX } from "@tabler/icons-react";
import type { Check, CheckState } from "../preflight";
import classes from "./checklist.module.css";

const ICONS: Record<CheckState, { icon: typeof IconCheck; word: string }> = {
  done: { icon: IconCheck, word: t`Done` },
  waiting: { icon: IconLoader2, word: t`Waiting` },
  warning: { icon: IconAlertTriangle, word: t`Look at it` },
  failed: { icon: IconX, word: t`Failed` },
};

export function Checklist({ checks }: { checks: readonly Check[] }) {
  return (
    <ol className={classes["checks"]} aria-live="polite">
      {checks.map((check) => {
        const { icon: Icon, word } = ICONS[check.state];
        return (
          <li key={check.id} data-state={check.state}>
            <Icon size={16} aria-label={word} className={check.state === "waiting" ? (classes["spin"] ?? "") : ""} />
            <div>
              {check.label}
              {check.fix ? <p className="secondary">{check.fix}</p> : null}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
