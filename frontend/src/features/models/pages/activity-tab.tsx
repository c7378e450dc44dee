/** What happened to this model: registered, aliases moved, configurations edited, downloads, archived. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { eventPagesQuery } from "@/api/operations";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { EventList } from "@/components/event-list";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { useEvents } from "@/live/hooks";
import { useVersion } from "../hooks";

export function ActivityTab() {
  const { name } = useVersion();
  const subject = `model/${name}`;
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(eventPagesQuery(subject));
  const events = data?.pages.flatMap((page) => page.items);
  useEvents((event) => {
    if (event.subject === subject) void refetch();
  });
  if (error && !data) return <ProblemCard error={error} title={t`The activity could not be loaded`} onRetry={() => void refetch()} />;
  return (
    <Card title={t`Activity`} hint={t`all versions of ${name}, newest first`} flush>
      {isPending ? <SkeletonRows label={t`Loading the activity`} /> : null}
      {events && events.length > 0 ? <EventList events={events} /> : null}
      {hasNextPage ? (
        <p style={{ padding: "0 12px 12px", margin: 0 }}>
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            <Trans>Older events</Trans>
          </Button>
        </p>
      ) : null}
      {error && data ? (
        <ProblemCard error={error} title={t`Older events could not be loaded`} onRetry={() => void fetchNextPage()} />
      ) : null}
      {events && events.length === 0 ? (
        <EmptyState title={t`Nothing is recorded`} detail={t`Uploads, aliases, descriptions and archiving appear here as they happen.`} />
      ) : null}
    </Card>
  );
}
