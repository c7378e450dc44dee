/** Somebody moved the traffic while it was being edited here: who, when, from what to what, and whose shares count. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { latestEventQuery } from "@/api/activity";
import { Time } from "@/components/time";
import { TrafficBar } from "@/components/traffic-bar";
import { type Split, splitText } from "../traffic";
import classes from "./traffic-control.module.css";

export interface TrafficConflictProps {
  endpoint: string;
  names: readonly string[];
  seen: Split;
  now: Split;
  mine: Split;
  onTake: () => void;
  onKeep: () => void;
}

export function TrafficConflict({ endpoint, names, seen, now, mine, onTake, onKeep }: TrafficConflictProps) {
  const moved = useQuery(
    latestEventQuery({ subject: `endpoint/${endpoint}`, verb: "endpoint.traffic_changed" }, splitText(now, names)),
  ).data;
  return (
    <div className={classes["conflict"]} role="alert">
      <p>
        <b>
          {moved ? (
            <Trans>
              Changed by {moved.actor}, <Time at={moved.at} />:
            </Trans>
          ) : (
            t`Changed meanwhile:`
          )}{" "}
          {t`${splitText(seen, names)} is now ${splitText(now, names)}.`}
        </b>{" "}
        <Trans>You were about to make it {splitText(mine, names)}.</Trans>
      </p>
      <p className="secondary">
        <Trans>Theirs, in force</Trans>
      </p>
      <TrafficBar traffic={now} />
      <p className="secondary">
        <Trans>Yours, not applied</Trans>
      </p>
      <TrafficBar traffic={mine} />
      <div className={classes["conflictActions"]}>
        <Button variant="default" onClick={onTake}>
          <Trans>Leave it at {splitText(now, names)}</Trans>
        </Button>
        <Button variant="default" onClick={onKeep}>
          <Trans>Go on with mine, {splitText(mine, names)}</Trans>
        </Button>
      </div>
    </div>
  );
}
