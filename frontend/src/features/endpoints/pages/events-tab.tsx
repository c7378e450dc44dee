/** What happened to this endpoint: who, what, when, and what it changed. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { eventPagesQuery } from "@/api/operations";
import type { EventItem } from "@/api/types";
import { Card } from "@/components/card";
import { ChangeTable } from "@/components/change-table";
import { CopyButton } from "@/components/copy";
import { EmptyState } from "@/components/empty-state";
import { readEvent, valueText } from "@/components/event-changes";
import { EventMark } from "@/components/event-mark";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { useEvents } from "@/live/hooks";
import { isKind, KINDS, type Kind } from "../event-kinds";
import { useEndpoint } from "../hooks/use-endpoint";
import classes from "./events-tab.module.css";

function Details({ event }: { event: EventItem }) {
  const { changes, facts } = readEvent(event.data);
  const told = facts.map(([name, value]): [string, string] => [name, valueText(value)]);
  return (
    <div className={classes["details"]}>
      {changes.length > 0 ? (
        <div className={classes["changes"]}>
          <ChangeTable label={t`Before and after`} changes={changes} />
        </div>
      ) : null}
      <dl className={classes["facts"]}>
        {[[t`Event`, String(event.seq)], [t`Kind`, event.verb], ...told].map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="mono">{value}</dd>
          </div>
        ))}
      </dl>
      <CopyButton text={`${window.location.origin}${window.location.pathname}?event=${event.seq}`} label={t`link to this event`} />
    </div>
  );
}

function Row({ event, open, onToggle }: { event: EventItem; open: boolean; onToggle: () => void }) {
  const row = useRef<HTMLLIElement>(null);
  const [first] = useState(open);
  useEffect(() => {
    if (first) row.current?.scrollIntoView({ block: "center" });
  }, [first]);
  return (
    <li ref={row} data-open={open || undefined}>
      <button type="button" className={classes["row"]} aria-expanded={open} onClick={onToggle}>
        {open ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
        <Time at={event.at} />
        <EventMark event={event} />
        <span className={classes["message"]}>{event.message}</span>
        <span className="secondary">{event.actor ? t`by ${event.actor}` : ""}</span>
      </button>
      {open ? <Details event={event} /> : null}
    </li>
  );
}

export interface EndpointEventsProps {
  name: string;
  kind: Kind;
  onKind: (kind: Kind) => void;
  /** The one that is open. */
  chosen: number | undefined;
  onChoose: (seq: number | undefined) => void;
}

export function EndpointEvents({ name, kind, onKind, chosen, onChoose }: EndpointEventsProps) {
  const subject = `endpoint/${name}`;
  // why only the first: an event that one opens in the list is there already.
  const [linked] = useState(chosen);
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    eventPagesQuery(subject, linked),
  );
  useEvents((event) => {
    if (event.subject === subject) void refetch();
  });
  const held = data?.pages.flatMap((page) => page.items);
  const shown = held?.filter((event) => isKind(event, kind));
  const oldest = held?.at(-1)?.seq;
  // Read on to the event that a link names, however old it is.
  const before = linked !== undefined && oldest !== undefined && linked < oldest && hasNextPage;
  useEffect(() => {
    if (before && !isFetchingNextPage && !error) void fetchNextPage();
  }, [before, error, fetchNextPage, isFetchingNextPage]);
  if (error && !data) return <ProblemCard error={error} title={t`The events could not be loaded`} onRetry={() => void refetch()} />;
  return (
    <>
      <div className={toolbar["toolbar"]}>
        <Segmented label={t`Kind of event`} value={kind} options={KINDS} onChange={onKind} />
      </div>
      <Card title={t`Events`} hint={t`newest first; open one for what it changed`} flush>
        {isPending ? <SkeletonRows label={t`Loading events`} /> : null}
        {shown && shown.length > 0 ? (
          <ol className={classes["list"]}>
            {shown.map((event) => (
              <Row
                key={event.seq}
                event={event}
                open={chosen === event.seq}
                onToggle={() => onChoose(chosen === event.seq ? undefined : event.seq)}
              />
            ))}
          </ol>
        ) : null}
        {shown && shown.length === 0 ? (
          <EmptyState
            title={
              kind === "all"
                ? t`Nothing has happened yet`
                : hasNextPage
                  ? t`No event of this kind among those read`
                  : t`No event of this kind`
            }
            detail={t`Deployments, traffic changes, keys and failures are recorded here.`}
          />
        ) : null}
        {hasNextPage ? (
          <div className={classes["more"]}>
            <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              <Trans>Older events</Trans>
            </Button>
          </div>
        ) : null}
        {error && data ? (
          <ProblemCard error={error} title={t`Older events could not be loaded`} onRetry={() => void fetchNextPage()} />
        ) : null}
      </Card>
    </>
  );
}

export function EventsTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/events" });
  const navigate = useNavigate({ from: "/endpoints/$name/events" });
  const set = (change: Partial<typeof search>) => void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  return (
    <EndpointEvents
      key={endpoint.name}
      name={endpoint.name}
      kind={KINDS.find((item) => item.value === search.kind)?.value ?? "all"}
      onKind={(kind) => set({ kind: kind === "all" ? undefined : kind })}
      chosen={search.event}
      onChoose={(event) => set({ event })}
    />
  );
}
