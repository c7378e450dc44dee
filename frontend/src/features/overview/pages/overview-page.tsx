/** How the whole installation does, at a glance. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate } from "@tanstack/react-router";
import { overviewQuery } from "@/api/operations";
import { useSeesInstallation } from "@/api/permissions";
import type { Overview } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EventList } from "@/components/event-list";
import { HeatStrip } from "@/components/heat-strip";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { LoadProblem } from "@/components/forbidden";
import { RefusingLink } from "@/components/refusing-button";
import { Skeleton } from "@/components/skeleton";
import { useLiveState } from "@/live/hooks";
import { useLiveOverview } from "@/live/overview";
import { AttentionList } from "../components/attention-list";
import { EndpointTable } from "../components/endpoint-table";
import { FirstSteps } from "../components/first-steps";
import { NodeStrip } from "../components/node-strip";
import { OperationList } from "../components/operation-list";
import { Tiles } from "../components/tiles";
import classes from "./overview-page.module.css";

const SHOWN_NODES = 8;

function Body({ overview }: { overview: Overview }) {
  const { counts } = overview;
  return (
    <>
      <Tiles overview={overview} />
      {overview.attention.length > 0 ? <AttentionList items={overview.attention} count={counts.attention} /> : null}
      <div className={classes["grid"]}>
        <div className={classes["stack"]}>
          <Card title={t`Endpoints`} hint={t`${counts.replicas_ready} of ${counts.replicas_total} replicas ready`} flush>
            <EndpointTable endpoints={overview.endpoints} />
            {counts.endpoints > overview.endpoints.length ? (
              <p className={classes["more"]}>
                <Trans>
                  Those in trouble and the busiest of{" "}
                  <Link {...paths.endpoints()} className="link">
                    {plural(counts.endpoints, { one: "# endpoint", other: "# endpoints" })}
                  </Link>
                </Trans>
              </p>
            ) : null}
          </Card>
          <Card title={t`Recent operations`} flush>
            <OperationList operations={overview.recent_operations} />
          </Card>
        </div>
        <div className={classes["stack"]}>
          <Card title={t`Nodes`} hint={t`${counts.nodes_online} of ${counts.nodes} online`} flush>
            <HeatStrip nodes={overview.nodes} />
            <NodeStrip nodes={overview.nodes.slice(0, SHOWN_NODES)} />
            {counts.nodes > overview.nodes.length ? (
              <p className={classes["more"]}>
                <Trans>
                  Those not online and the fullest of{" "}
                  <Link {...paths.nodes()} className="link">
                    {plural(counts.nodes, { one: "# node", other: "# nodes" })}
                  </Link>
                </Trans>
              </p>
            ) : null}
          </Card>
          <Card title={t`Recent events`} flush>
            <EventList events={overview.recent_events} />
          </Card>
        </div>
      </div>
    </>
  );
}

export function OverviewPage() {
  // why not the refusal: it is where everybody begins, and projects have endpoints and no overview
  return useSeesInstallation() ? <OfInstallation /> : <Navigate {...paths.endpoints()} replace />;
}

function OfInstallation() {
  usePageTitle(t`Overview`);
  useLiveOverview();
  // why not also while frames come: each of them is what an answer would say, and less.
  const fallBack = useLiveState() === "live" ? { refetchInterval: false as const } : {};
  const { data, error, refetch } = useQuery({ ...overviewQuery(), ...fallBack });
  const isEmpty = data !== undefined && data.counts.endpoints === 0;
  return (
    <>
      <PageHeader
        title={t`Overview`}
        actions={
          isEmpty ? null : (
            <RefusingLink needs="deploy" link={paths.deploy()} leftSection={<IconRocket size={16} />}>
              <Trans>Deploy a model</Trans>
            </RefusingLink>
          )
        }
      />
      {error && !data ? <LoadProblem error={error} what={t`The overview`} needs="read" onRetry={() => void refetch()} /> : null}
      {!data && !error ? (
        <div className={classes["stack"]} role="status" aria-label={t`Loading the overview`}>
          <Skeleton height={220} />
          <Skeleton height={160} />
        </div>
      ) : null}
      {data ? isEmpty ? <FirstSteps overview={data} /> : <Body overview={data} /> : null}
    </>
  );
}
