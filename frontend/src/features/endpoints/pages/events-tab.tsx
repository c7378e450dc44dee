/** What happened to this endpoint. */
import { useQuery } from "@tanstack/react-query";
import { eventsQuery } from "@/api/operations";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { EventList } from "@/components/event-list";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { useEvents } from "@/live/hooks";
import { useEndpoint } from "../hooks/use-endpoint";

const LIMIT = 200;

export function EventsTab() {
  const endpoint = useEndpoint();
  const { data, error, isPending, refetch } = useQuery(eventsQuery(`endpoint/${endpoint.name}`, LIMIT));
  useEvents((event) => {
    if (event.subject === `endpoint/${endpoint.name}`) void refetch();
  });
  if (error) return <ProblemCard error={error} title="The events could not be loaded" onRetry={() => void refetch()} />;
  return (
    <Card title="Events" hint="newest first" flush>
      {isPending ? <SkeletonRows label="Loading events" /> : null}
      {data && data.items.length > 0 ? <EventList events={data.items} /> : null}
      {data && data.items.length === 0 ? (
        <EmptyState title="Nothing has happened yet" detail="Deployments, traffic changes and failures are recorded here." />
      ) : null}
    </Card>
  );
}
