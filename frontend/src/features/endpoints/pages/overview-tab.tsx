/** An endpoint at work: key figures and panels at two frames per second, traffic, recent events. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { newsQuery } from "@/api/operations";
import { RANGE_SECONDS, RANGES, type Range } from "@/app/search";
import { Card } from "@/components/card";
import { EventList } from "@/components/event-list";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import { useEndpointSeries, useEvents, useLiveState } from "@/live/hooks";
import { ALL } from "@/live/metric-keys";
import { DeploymentsCard } from "../components/deployments-card";
import { KpiStrip } from "../components/kpi-strip";
import { LivePanels } from "../components/live-panels";
import { useEndpoint } from "../hooks/use-endpoint";
import { ObjectivesCard } from "../objectives/objectives-card";
import { RolloutCard } from "../rollout/rollout-card";
import { WhySlow } from "../why-slow/why-slow";
import classes from "./overview-tab.module.css";

const SHOWN_EVENTS = 6;

function RecentEvents({ endpoint }: { endpoint: string }) {
  const events = useQuery(newsQuery(`endpoint/${endpoint}`, SHOWN_EVENTS));
  const { refetch } = events;
  useEvents((event) => {
    if (event.subject === `endpoint/${endpoint}`) void refetch();
  });
  const shown = events.data?.items.slice(0, SHOWN_EVENTS);
  return (
    <Card title={t`Recent events`} flush>
      {events.error ? (
        <div style={{ padding: 12 }}>
          <ProblemCard error={events.error} title={t`Events could not be loaded`} onRetry={() => void refetch()} />
        </div>
      ) : null}
      {!shown && !events.error ? <SkeletonRows rows={4} label={t`Loading events`} /> : null}
      {shown && shown.length > 0 ? <EventList events={shown} /> : null}
      {shown && shown.length === 0 ? (
        <p className={classes["none"]}>
          <Trans>Nothing has happened yet</Trans>
        </p>
      ) : null}
    </Card>
  );
}

export function OverviewTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/overview" });
  const navigate = useNavigate({ from: "/endpoints/$name/overview" });
  const names = endpoint.deployments.map((deployment) => deployment.name);
  const scope = search.dep && names.includes(search.dep) ? search.dep : ALL;
  const rangeName: Range = search.range ?? "5m";
  const range = RANGE_SECONDS[rangeName];
  const series = useEndpointSeries(endpoint.name, RANGE_SECONDS["15m"]);
  const linkState = useLiveState();
  const dimmed = linkState === "reconnecting" || linkState === "offline";
  return (
    <>
      <RolloutCard endpoint={endpoint.name} />
      <div className={classes["bar"]}>
        <h2>
          <Trans>Live metrics</Trans>
        </h2>
        <span className="secondary">
          {scope === ALL ? t`all deployments, 2 updates per second` : t`deployment ${scope}, 2 updates per second`}
        </span>
        <div className={classes["controls"]}>
          <WhySlow endpoint={endpoint} deployment={scope === ALL ? undefined : scope} />
          {names.length > 1 ? (
            <Segmented
              label={t`Deployment`}
              value={scope}
              options={[{ value: ALL, label: t`All` }, ...names.map((name) => ({ value: name, label: name }))]}
              onChange={(dep) => void navigate({ search: (old) => ({ ...old, dep: dep === ALL ? undefined : dep }), replace: true })}
            />
          ) : null}
          <Segmented
            label={t`Range`}
            value={rangeName}
            options={RANGES.map((value) => ({ value, label: value }))}
            onChange={(value) => void navigate({ search: (old) => ({ ...old, range: value === "5m" ? undefined : value }), replace: true })}
          />
        </div>
      </div>
      <KpiStrip series={series} scope={scope} range={range} dimmed={dimmed} />
      <LivePanels endpoint={endpoint.name} deployments={names} series={series} scope={scope} range={range} dimmed={dimmed} />
      <ObjectivesCard endpoint={endpoint} />
      <div className={classes["bottom"]}>
        <DeploymentsCard endpoint={endpoint} series={series} />
        <RecentEvents endpoint={endpoint.name} />
      </div>
    </>
  );
}
