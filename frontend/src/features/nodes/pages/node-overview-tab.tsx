/** What the node has, what happened to it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { eventsQuery } from "@/api/operations";
import { sessionQuery } from "@/api/session";
import type { NodeItem } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EventList } from "@/components/event-list";
import { absoluteTime, ageText, bytes, percent } from "@/components/format";
import { Meter } from "@/components/meter";
import { Chip } from "@/components/status";
import { LabelsCard } from "../components/labels-card";
import { useNode } from "../hooks/use-node";
import { share } from "../share";
import classes from "./node-page.module.css";

function Resources({ node }: { node: NodeItem }) {
  const { info } = node;
  return (
    <Card
      title={t`Resources`}
      hint={
        info.disk_pressure ? (
          <Chip tone="warn">
            <Trans>disk nearly full: takes nothing new</Trans>
          </Chip>
        ) : undefined
      }
    >
      <div className={classes["meters"]}>
        <Meter
          label={t`CPU, ${plural(info.cpu_count, { one: "# core", other: "# cores" })}`}
          share={info.cpu_utilization}
          text={percent(info.cpu_utilization)}
        />
        <Meter
          label={t`Memory`}
          share={share(info.memory_used_bytes, info.memory_total_bytes)}
          text={t`${bytes(info.memory_used_bytes)} of ${bytes(info.memory_total_bytes)}`}
        />
        <Meter
          label={t`Disk`}
          share={share(info.disk_total_bytes - info.disk_free_bytes, info.disk_total_bytes)}
          text={t`${bytes(info.disk_free_bytes)} free of ${bytes(info.disk_total_bytes)}`}
        />
        <Meter
          label={t`Model cache, part of the disk`}
          share={share(info.cache_bytes, info.disk_total_bytes)}
          text={bytes(info.cache_bytes)}
        />
      </div>
    </Card>
  );
}

/** What replicas are kept to on this node, and what its machine has no means for. */
function Sandbox({ kept }: { kept: NodeItem["info"]["sandbox"] }) {
  const names = Object.keys(kept);
  if (names.length === 0)
    return (
      <Chip tone="warn">
        <Trans>none: replicas run as the agent does</Trans>
      </Chip>
    );
  const missing = names.filter((name) => !kept[name]);
  return (
    <>
      <span className="mono">{names.filter((name) => kept[name]).join(", ") || "–"}</span>
      {missing.length > 0 ? (
        <span className="muted">
          <Trans>, not here: {missing.join(", ")}</Trans>
        </span>
      ) : null}
    </>
  );
}

function Facts({ node, version }: { node: NodeItem; version: string | undefined }) {
  const { info } = node;
  const differs = version !== undefined && info.agent_version !== version;
  return (
    <Card title={t`Agent`}>
      <dl className={classes["facts"]}>
        <div>
          <dt>
            <Trans>Address</Trans>
          </dt>
          <dd className="mono">{info.address}</dd>
        </div>
        <div>
          <dt>
            <Trans>Version</Trans>
          </dt>
          <dd>
            {info.agent_version}{" "}
            {differs ? (
              <Chip tone="warn">
                <Trans>server: {version}</Trans>
              </Chip>
            ) : null}
          </dd>
        </div>
        <div>
          <dt>
            <Trans>Backends</Trans>
          </dt>
          <dd className="mono">{info.backends.join(", ") || "–"}</dd>
        </div>
        <div>
          <dt>
            <Trans>Sandbox</Trans>
          </dt>
          <dd>
            <Sandbox kept={info.sandbox} />
          </dd>
        </div>
        <div>
          <dt>
            <Trans>Certificate</Trans>
          </dt>
          <dd>
            {node.certificate_ends_at ? (
              <>
                <Trans>
                  until {absoluteTime(node.certificate_ends_at)}
                  <span className="muted">, renews by itself</span>
                </Trans>
              </>
            ) : (
              <Chip tone="warn">
                <Trans>none shown yet</Trans>
              </Chip>
            )}
          </dd>
        </div>
        <div>
          <dt>
            <Trans>Last report</Trans>
          </dt>
          <dd>
            {ageText(node.age_s)}
            <span className="muted">
              <Trans>, due every {node.rule.interval_s} s</Trans>
            </span>
          </dd>
        </div>
      </dl>
    </Card>
  );
}

export function NodeOverviewTab() {
  const node = useNode();
  const events = useQuery(eventsQuery(`node/${node.name}`, 8));
  const version = useQuery(sessionQuery()).data?.version;
  return (
    <div className={classes["grid"]}>
      <div className={classes["stack"]}>
        <Resources node={node} />
        <Card
          title={t`Recent events`}
          flush
          actions={
            <Link {...paths.activity({ subject: `node/${node.name}` })} className="link">
              <Trans>All</Trans>
            </Link>
          }
        >
          {events.data && events.data.items.length > 0 ? (
            <EventList events={events.data.items} />
          ) : (
            <p className={classes["none"]}>{events.error ? t`The events could not be loaded` : t`Nothing has happened yet`}</p>
          )}
        </Card>
      </div>
      <div className={classes["stack"]}>
        <Facts node={node} version={version} />
        <LabelsCard node={node} />
      </div>
    </div>
  );
}
