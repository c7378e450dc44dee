/** What is wrong now and was before, what is silenced, where it is told, and the rules behind it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconBellCheck, IconHistory } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { activeAlertsQuery, alertCountsQuery, pastAlertsQuery } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { AlertTab } from "@/app/paths";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { Segmented } from "@/components/segmented";
import { Status } from "@/components/status";
import toolbar from "@/components/toolbar.module.css";
import { useEvents } from "@/live/hooks";
import classes from "../alerts.module.css";
import { AlertTable } from "../components/alert-table";
import { ChannelsList } from "../components/channels-list";
import { RulesList } from "../components/rules-list";
import { SilencesList } from "../components/silences-list";

const TABS: { value: AlertTab; label: string }[] = [
  { value: "active", label: t`Active` },
  { value: "history", label: t`History` },
  { value: "silences", label: t`Silences` },
  { value: "channels", label: t`Channels` },
  { value: "rules", label: t`Rules` },
];

function Active({ chosen }: { chosen: string | undefined }) {
  const { data, error, isPending, refetch } = useQuery(activeAlertsQuery());
  if (error && !data) return <LoadProblem error={error} what={t`The alerts`} needs="read" onRetry={() => void refetch()} />;
  return (
    <Card flush>
      <AlertTable
        label={t`Active alerts`}
        rows={data}
        loading={isPending}
        chosen={chosen}
        empty={
          <EmptyState
            icon={<IconBellCheck size={30} stroke={1.4} />}
            title={t`Nothing is wrong`}
            detail={t`The rules are looked at every 15 seconds. Objectives of endpoints are set on their pages.`}
          />
        }
      />
    </Card>
  );
}

function Past({ chosen }: { chosen: string | undefined }) {
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(pastAlertsQuery());
  if (error && !data) return <LoadProblem error={error} what={t`The history`} needs="read" onRetry={() => void refetch()} />;
  return (
    <Card flush>
      <AlertTable
        label={t`Resolved alerts`}
        rows={data?.pages.flatMap((page) => page.items)}
        loading={isPending}
        chosen={chosen}
        past
        empty={<EmptyState icon={<IconHistory size={30} stroke={1.4} />} title={t`Nothing was wrong`} detail={t`Kept for 90 days.`} />}
      />
      {hasNextPage ? (
        <div className={classes["more"]}>
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            <Trans>Older ones</Trans>
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

export function AlertsPage() {
  usePageTitle(t`Alerts`);
  const { tab = "active", alert, rule } = useSearch({ from: "/app/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const client = useQueryClient();
  const { data: counts } = useQuery(alertCountsQuery());
  useEvents((event) => {
    if (/^(alert|silence|alert_rule)\./.test(event.verb)) void client.invalidateQueries({ queryKey: keys.alerts.all });
  });
  return (
    <>
      <PageHeader
        title={t`Alerts`}
        beside={
          counts ? (
            <Status
              state={counts.firing === 0 ? t`nothing fires` : plural(counts.firing, { one: "# alert fires", other: "# alerts fire" })}
              tone={counts.open > 0 ? "error" : counts.firing > 0 ? "warn" : "ok"}
            />
          ) : null
        }
        subtitle={t`What should be looked after, and who is told of it`}
      />
      <div className={toolbar["toolbar"]}>
        <Segmented
          label={t`Which`}
          value={tab}
          options={TABS}
          onChange={(next) => void navigate({ search: next === "active" ? {} : { tab: next }, replace: true })}
        />
      </div>
      {tab === "active" ? <Active chosen={alert} /> : null}
      {/* Messages link to one alert, which may be resolved by the time that somebody follows. */}
      {tab === "history" || (tab === "active" && alert) ? (
        <div className={tab === "active" ? classes["below"] : undefined}>
          <Past chosen={alert} />
        </div>
      ) : null}
      {tab === "silences" ? (
        <Card flush>
          <SilencesList />
        </Card>
      ) : null}
      {tab === "channels" ? <ChannelsList /> : null}
      {tab === "rules" ? <RulesList chosen={rule} /> : null}
    </>
  );
}
