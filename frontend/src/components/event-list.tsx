/** What happened, newest first. */
import type { EventItem } from "@/api/types";
import classes from "./event-list.module.css";
import { absoluteTime, clock, zonedTime } from "./format";
import { type Tone, ToneIcon } from "./status";

const TONE: Record<EventItem["severity"], Tone> = { info: "info", warning: "warn", error: "error" };

/** Events of the last day show the time of day, older ones month and day too. */
function when(at: string): string {
  return Date.now() - new Date(at).getTime() < 86_400_000 ? clock(at) : absoluteTime(at).slice(5, 16);
}

function toneFor(event: EventItem): Tone {
  const tone = TONE[event.severity];
  if (tone === "info" && /ready|succeeded|created|online|healthy|routed|registered|joined/.test(event.verb)) return "ok";
  return tone;
}

function Dot({ tone, label }: { tone: Tone; label: string }) {
  if (tone === "ok" || tone === "info" || tone === "idle") {
    return <span className={classes["dot"]} data-tone={tone} role="img" aria-label={label} />;
  }
  return <ToneIcon tone={tone} label={label} size={14} />;
}

export function EventList({ events }: { events: readonly EventItem[] }) {
  return (
    <ol className={classes["list"]}>
      {events.map((event) => (
        <li key={event.seq}>
          <time dateTime={event.at} title={zonedTime(event.at)}>
            {when(event.at)}
          </time>
          <Dot tone={toneFor(event)} label={event.severity} />
          <div className={classes["words"]}>
            <p>{event.message}</p>
            <p className="secondary">
              {event.actor ? `by ${event.actor}` : null}
              {event.actor && event.subject ? " · " : null}
              {event.subject}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}
