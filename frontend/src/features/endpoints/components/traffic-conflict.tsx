/** Somebody moved the traffic while it was being edited here: who, when, from what to what, and whose shares count. */
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
            <>
              Changed by {moved.actor}, <Time at={moved.at} />:
            </>
          ) : (
            "Changed meanwhile:"
          )}{" "}
          {splitText(seen, names)} is now {splitText(now, names)}.
        </b>{" "}
        You were about to make it {splitText(mine, names)}.
      </p>
      <p className="secondary">Theirs, in force</p>
      <TrafficBar traffic={now} />
      <p className="secondary">Yours, not applied</p>
      <TrafficBar traffic={mine} />
      <div className={classes["conflictActions"]}>
        <Button variant="default" onClick={onTake}>
          Leave it at {splitText(now, names)}
        </Button>
        <Button variant="default" onClick={onKeep}>
          Go on with mine, {splitText(mine, names)}
        </Button>
      </div>
    </div>
  );
}
