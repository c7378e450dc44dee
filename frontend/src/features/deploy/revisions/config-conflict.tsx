/** Others have saved while one types here: who, when, what they said; nothing of either is lost before one has looked. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import type { ModelVersion } from "@/api/types";
import { Time } from "@/components/time";
import classes from "./config-tab.module.css";

export interface ConfigConflictProps {
  version: ModelVersion;
  /** The newest revision that one has seen. */
  since: number;
  /** The revision that is edited here; 0: the files. */
  shown: number;
  dirty: boolean;
  /** Whether the difference to theirs is shown already. */
  looking: boolean;
  onLook: () => void;
  onTake: () => void;
  onGoOn: () => void;
}

export function ConfigConflict({ version, since, shown, dirty, looking, onLook, onTake, onGoOn }: ConfigConflictProps) {
  const fresh = version.config_revisions.filter((one) => one.number > since).sort((a, b) => a.number - b.number);
  const newest = fresh.at(-1);
  if (newest === undefined) return null;
  return (
    <section className={classes["conflict"]} role="alert" aria-label={t`Saved meanwhile`}>
      <ul>
        {fresh.map((one) => (
          <li key={one.number}>
            <b>
              <Trans>
                Changed by {one.author}, <Time at={one.created_at} />: revision {one.number}
              </Trans>
            </b>
            {one.message ? `, “${one.message}”` : ""} ({Object.keys(one.configs).join(", ") || t`back to the files`})
          </li>
        ))}
      </ul>
      <p>
        {shown === 0 ? t`You edit the files.` : t`You edit revision ${shown}.`}{" "}
        {dirty ? t`Your changes are kept in this window, and not saved.` : ""}
      </p>
      <div className={classes["conflictActions"]}>
        {dirty ? (
          <>
            <Button variant="default" disabled={looking} onClick={onLook}>
              <Trans>Look at the difference</Trans>
            </Button>
            <Button variant="default" onClick={onGoOn}>
              <Trans>Go on with my changes over revision {newest.number}</Trans>
            </Button>
          </>
        ) : null}
        <Button variant="default" onClick={onTake}>
          {dirty ? t`Drop mine, show revision ${newest.number}` : t`Show revision ${newest.number}`}
        </Button>
      </div>
    </section>
  );
}
