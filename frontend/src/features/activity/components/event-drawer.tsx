/** One event whole: who, what, when, and the difference that it made. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Drawer } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { EventItem } from "@/api/types";
import { paths } from "@/app/paths";
import { ChangeTable } from "@/components/change-table";
import { CodeBlock } from "@/components/copy";
import { readEvent, valueText } from "@/components/event-changes";
import { EventMark } from "@/components/event-mark";
import { zonedTime } from "@/components/format";
import { subjectLink } from "../subject-link";
import classes from "./event-drawer.module.css";

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

function Body({ event }: { event: EventItem }) {
  const { changes, facts } = readEvent(event.data);
  const link = subjectLink(event.subject);
  return (
    <div className={classes["body"]}>
      <p className={classes["message"]}>
        <EventMark event={event} /> {event.message}
      </p>
      <dl className={classes["facts"]}>
        <div>
          <dt>
            <Trans>When</Trans>
          </dt>
          <dd>{zonedTime(event.at)}</dd>
        </div>
        <div>
          <dt>
            <Trans>By</Trans>
          </dt>
          <dd>{event.actor}</dd>
        </div>
        <div>
          <dt>
            <Trans>Kind</Trans>
          </dt>
          <dd className="mono">{event.verb}</dd>
        </div>
        <div>
          <dt>
            <Trans>About</Trans>
          </dt>
          <dd>
            {link ? (
              <Link {...link} className="link">
                {event.subject}
              </Link>
            ) : (
              event.subject
            )}
          </dd>
        </div>
        {facts
          .filter(([, value]) => typeof value !== "object")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{capital(name.replaceAll("_", " "))}</dt>
              <dd className="mono">
                {name === "operation" && typeof value === "string" && value !== "" ? (
                  <Link {...paths.operation(value)} className="link">
                    {value}
                  </Link>
                ) : (
                  valueText(value)
                )}
              </dd>
            </div>
          ))}
      </dl>
      {changes.length > 0 ? <ChangeTable label={t`What changed`} changes={changes} /> : null}
      {Object.keys(event.data).length > 0 ? (
        <details>
          <summary>
            <Trans>All data</Trans>
          </summary>
          <CodeBlock label={t`event data`} code={JSON.stringify(event.data, null, 2)} />
        </details>
      ) : null}
    </div>
  );
}

export function EventDrawer({ event, onClose }: { event: EventItem | undefined; onClose: () => void }) {
  return (
    <Drawer
      opened={event !== undefined}
      onClose={onClose}
      position="right"
      size={520}
      title={event ? t`Event ${event.seq}` : ""}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      {event ? <Body event={event} /> : null}
    </Drawer>
  );
}
