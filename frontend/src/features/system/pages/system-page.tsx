/** Is the installation itself well? Each part with its reason. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { systemQuery } from "@/api/system";
import type { System } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { LoadProblem } from "@/components/forbidden";
import { LinkButton } from "@/components/link-button";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import { PartRow } from "../components/part-row";
import { grouped, partsWords, TONES } from "../order";
import classes from "./system-page.module.css";

/** Clocks that differ by more make "4 s ago" a lie. */
const SKEW_S = 5;

function clockWords(system: System, at: number): string {
  const skew = (new Date(system.now).getTime() - at) / 1000;
  if (Math.abs(skew) < SKEW_S) return t`clock as this browser's`;
  const by = Math.round(Math.abs(skew));
  return skew > 0 ? t`clock ${by} s ahead of this browser's` : t`clock ${by} s behind this browser's`;
}

export function SystemPage() {
  usePageTitle(t`System`);
  const { data, error, isPending, refetch, dataUpdatedAt } = useQuery(systemQuery());
  const bad = data?.parts.filter((part) => part.state === "error" || part.state === "warning").length ?? 0;
  return (
    <>
      <PageHeader
        title={t`System`}
        beside={data ? <Status state={partsWords(bad, data.parts.length)} tone={TONES[data.state]} /> : null}
        subtitle={t`The parts of Shoal itself. Requests to endpoints pass the gateways and nodes only; they go on while the rest is down.`}
        actions={
          <LinkButton {...paths.activity()} variant="default">
            <Trans>Activity</Trans>
          </LinkButton>
        }
      />
      {error && !data ? <LoadProblem error={error} what={t`The system`} needs="read" onRetry={() => void refetch()} /> : null}
      {isPending ? <SkeletonRows label={t`Loading the system`} /> : null}
      {data ? (
        <div className={classes["stack"]}>
          {grouped(data.parts).map((group) => (
            <Card key={group.title} title={group.title} flush>
              <ul className={classes["list"]}>
                {group.parts.map((part) => (
                  <PartRow key={`${part.kind} ${part.name}`} part={part} />
                ))}
              </ul>
            </Card>
          ))}
          <p className="secondary">
            <Trans>
              Version {data.version} · last event {data.newest_event_seq}, <Time at={data.newest_event_at} />
            </Trans>
            {` · ${clockWords(data, dataUpdatedAt)}`}
          </p>
        </div>
      ) : null}
    </>
  );
}
