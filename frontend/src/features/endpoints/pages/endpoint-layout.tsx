/** Header and tabs around every page of one endpoint. */
import { IconPlayerPlay, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { endpointQuery } from "@/api/endpoints";
import { toProblem } from "@/api/problem";
import { paths } from "@/app/paths";
import { CopyField } from "@/components/copy";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { RefusingLink } from "@/components/refusing-button";
import { Skeleton } from "@/components/skeleton";
import { Chip, Status } from "@/components/status";
import { Tabs } from "@/components/tabs";
import { isBeingRouted, RoutingStatus, UnconfirmedNote } from "../components/unconfirmed-note";
import { TrafficWatchBanner } from "../watch/traffic-watch";

function Waiting({ name }: { name: string }) {
  return (
    <>
      <PageHeader title={name} />
      <div style={{ display: "grid", gap: 12 }} role="status" aria-label="Loading the endpoint">
        <Skeleton height={34} width="60%" />
        <Skeleton height={88} />
        <Skeleton height={230} />
      </div>
    </>
  );
}

const POLL_MS = 15_000;
/** Gateways confirm within a moment, which pages without the live topic are to see, too. */
const ROUTING_POLL_MS = 1_000;

export function EndpointLayout() {
  const { name } = useParams({ from: "/app/endpoints/$name" });
  const {
    data: endpoint,
    error,
    refetch,
  } = useQuery({
    ...endpointQuery(name),
    refetchInterval: ({ state }) => (state.data && isBeingRouted(state.data) ? ROUTING_POLL_MS : POLL_MS),
  });
  usePageTitle(name, "Endpoints");
  if (!endpoint) {
    if (!error) return <Waiting name={name} />;
    if (toProblem(error).status === 404) {
      return (
        <>
          <PageHeader title={name} />
          <EmptyState
            title={`There is no endpoint ${name}`}
            detail="It may have been deleted."
            action={
              <LinkButton {...paths.endpoints()} variant="default">
                All endpoints
              </LinkButton>
            }
          />
        </>
      );
    }
    return <ProblemCard error={error} title="The endpoint could not be loaded" onRetry={() => void refetch()} />;
  }
  return (
    <>
      <PageHeader
        title={endpoint.name}
        beside={
          <>
            <Status state={endpoint.serving_state} />
            <RoutingStatus endpoint={endpoint} />
            {endpoint.project === "default" ? null : <Chip>{`project ${endpoint.project}`}</Chip>}
            <CopyField prefix="POST" text={endpoint.scoring_uri} label="scoring URL" />
          </>
        }
        actions={
          <>
            <LinkButton {...paths.endpointTab(name, "test")} variant="default" leftSection={<IconPlayerPlay size={15} />}>
              Test
            </LinkButton>
            <RefusingLink needs="deploy" link={paths.deploy({ endpoint: name })} leftSection={<IconPlus size={15} />}>
              New deployment
            </RefusingLink>
          </>
        }
      />
      <Tabs
        label="Endpoint"
        tabs={[
          { label: "Overview", link: paths.endpoint(name) },
          { label: "Deployments", link: paths.endpointTab(name, "deployments"), count: endpoint.deployments.length },
          { label: "Metrics", link: paths.endpointTab(name, "metrics") },
          { label: "Pipeline", link: paths.endpointTab(name, "pipeline") },
          { label: "Experiment", link: paths.endpointTab(name, "experiment") },
          { label: "Test", link: paths.endpointTab(name, "test") },
          { label: "Consume", link: paths.endpointTab(name, "consume") },
          { label: "Keys", link: paths.endpointTab(name, "keys") },
          { label: "Requests", link: paths.endpointTab(name, "requests") },
          { label: "Load", link: paths.endpointTab(name, "load") },
          { label: "Data", link: paths.endpointTab(name, "data") },
          { label: "Logs", link: paths.endpointTab(name, "logs") },
          { label: "Events", link: paths.endpointTab(name, "events") },
          { label: "Settings", link: paths.endpointTab(name, "settings") },
        ]}
      />
      <UnconfirmedNote endpoint={endpoint} />
      <TrafficWatchBanner endpoint={endpoint} />
      <Outlet />
    </>
  );
}
