/** What happened, newest first. */
import { t } from "@lingui/core/macro";
import type { EventItem } from "@/api/types";
import classes from "./event-list.module.css";
import { EventMark } from "./event-mark";
import { absoluteTime, clock, zonedTime } from "./format";

/** Events of the last day show the time of day, older ones month and day too. */
function when(at: string): string {
  return Date.now() - new Date(at).getTime() < 86_400_000 ? clock(at) : absoluteTime(at).slice(5, 16);
}

export function EventList({ events }: { events: readonly EventItem[] }) {
  return (
    <ol className={classes["list"]}>
      {events.map((event) => (
        <li key={event.seq}>
          <time dateTime={event.at} title={zonedTime(event.at)}>
            {when(event.at)}
          </time>
          <span className={classes["mark"]}>
            <EventMark event={event} />
          </span>
          <div className={classes["words"]}>
            <p>{event.message}</p>
            <p className="secondary">
              {event.actor ? t`by ${event.actor}` : null}
              {event.actor && event.subject ? " · " : null}
              {event.subject}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}
