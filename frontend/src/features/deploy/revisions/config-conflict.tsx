/** Others have saved while one types here: who, when, what they said; nothing of either is lost before one has looked. */
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
    <section className={classes["conflict"]} role="alert" aria-label="Saved meanwhile">
      <ul>
        {fresh.map((one) => (
          <li key={one.number}>
            <b>
              Changed by {one.author}, <Time at={one.created_at} />: revision {one.number}
            </b>
            {one.message ? `, “${one.message}”` : ""} ({Object.keys(one.configs).join(", ") || "back to the files"})
          </li>
        ))}
      </ul>
      <p>
        You edit {shown === 0 ? "the files" : `revision ${shown}`}. {dirty ? "Your changes are kept in this window, and not saved." : ""}
      </p>
      <div className={classes["conflictActions"]}>
        {dirty ? (
          <>
            <Button variant="default" disabled={looking} onClick={onLook}>
              Look at the difference
            </Button>
            <Button variant="default" onClick={onGoOn}>
              Go on with my changes over revision {newest.number}
            </Button>
          </>
        ) : null}
        <Button variant="default" onClick={onTake}>
          {dirty ? `Drop mine, show revision ${newest.number}` : `Show revision ${newest.number}`}
        </Button>
      </div>
    </section>
  );
}
