/** A labelled control of the form, with a badge that says where its value comes from. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { Origin } from "../config/source";
import shared from "../deploy.module.css";
import classes from "./form-field.module.css";

const ORIGIN_WORDS: Record<Origin | "you" | "revision", string> = {
  model: t`from model`,
  default: t`default`,
  config: t`from file`,
  "config+model": t`from file and model`,
  revision: t`from revision`,
  you: t`you`,
};

export interface OriginBadgeProps {
  origin: Origin | "you" | "revision";
  what: string;
  onRestore?: (() => void) | undefined;
}

export function OriginBadge({ origin, what, onRestore }: OriginBadgeProps) {
  if (origin !== "you" || !onRestore) {
    return (
      <span className={classes["origin"]} data-origin={origin}>
        {ORIGIN_WORDS[origin]}
      </span>
    );
  }
  return (
    <button
      type="button"
      className={classes["origin"]}
      data-origin="you"
      onClick={onRestore}
      title={t`Restore what it was`}
      aria-label={t`${what} is set by you. Restore`}
    >
      <Trans>you</Trans>
    </button>
  );
}

export interface FieldProps extends OriginBadgeProps {
  children: React.ReactNode;
}

export function Field({ what, origin, onRestore, children }: FieldProps) {
  return (
    <div className={shared["field"]}>
      <span className={shared["fieldLabel"]}>
        <span aria-hidden>{what}</span>
        <OriginBadge origin={origin} what={what} onRestore={onRestore} />
      </span>
      {children}
    </div>
  );
}
