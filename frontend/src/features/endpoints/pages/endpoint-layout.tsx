/** Header and tabs around every page of one endpoint. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
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
      <div style={{ display: "grid", gap: 12 }} role="status" aria-label={t`Loading the endpoint`}>
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
  usePageTitle(name, t`Endpoints`);
  if (!endpoint) {
    if (!error) return <Waiting name={name} />;
    if (toProblem(error).status === 404) {
      return (
        <>
          <PageHeader title={name} />
          <EmptyState
            title={t`There is no endpoint ${name}`}
            detail={t`It may have been deleted.`}
            action={
              <LinkButton {...paths.endpoints()} variant="default">
                <Trans>All endpoints</Trans>
              </LinkButton>
            }
          />
        </>
      );
    }
    return <ProblemCard error={error} title={t`The endpoint could not be loaded`} onRetry={() => void refetch()} />;
  }
  return (
    <>
      <PageHeader
        title={endpoint.name}
        beside={
          <>
            <Status state={endpoint.serving_state} />
            <RoutingStatus endpoint={endpoint} />
            {endpoint.project === "default" ? null : <Chip>{t`project ${endpoint.project}`}</Chip>}
            <CopyField prefix="POST" text={endpoint.scoring_uri} label={t`scoring URL`} />
          </>
        }
        actions={
          <>
            <LinkButton {...paths.endpointTab(name, "test")} variant="default" leftSection={<IconPlayerPlay size={15} />}>
              <Trans>Test</Trans>
            </LinkButton>
            <RefusingLink needs="deploy" link={paths.deploy({ endpoint: name })} leftSection={<IconPlus size={15} />}>
              <Trans>New deployment</Trans>
            </RefusingLink>
          </>
        }
      />
      <Tabs
        label={t`Endpoint`}
        tabs={[
          { label: t`Overview`, link: paths.endpoint(name) },
          { label: t`Deployments`, link: paths.endpointTab(name, "deployments"), count: endpoint.deployments.length },
          { label: t`Metrics`, link: paths.endpointTab(name, "metrics") },
          { label: t`Pipeline`, link: paths.endpointTab(name, "pipeline") },
          { label: t`Experiment`, link: paths.endpointTab(name, "experiment") },
          { label: t`Test`, link: paths.endpointTab(name, "test") },
          { label: t`Consume`, link: paths.endpointTab(name, "consume") },
          { label: t`Keys`, link: paths.endpointTab(name, "keys") },
          { label: t`Requests`, link: paths.endpointTab(name, "requests") },
          { label: t`Load`, link: paths.endpointTab(name, "load") },
          { label: t`Data`, link: paths.endpointTab(name, "data") },
          { label: t`Logs`, link: paths.endpointTab(name, "logs") },
          { label: t`Events`, link: paths.endpointTab(name, "events") },
          { label: t`Settings`, link: paths.endpointTab(name, "settings") },
        ]}
      />
      <UnconfirmedNote endpoint={endpoint} />
      <TrafficWatchBanner endpoint={endpoint} />
      <Outlet key={name} />
    </>
  );
}
