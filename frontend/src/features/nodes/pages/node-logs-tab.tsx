/** What the runtime processes on this node said. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { clock, zonedTime } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { ListFilter } from "@/components/list-filter";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import toolbar from "@/components/toolbar.module.css";
import { useNode } from "../hooks/use-node";
import { useReplicaLog } from "../hooks/use-replica-log";
import classes from "./node-page.module.css";

/** Stays at the end while one is there; scrolling up stops that. */
function useFollow(changed: number) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [changed]);
  const onScroll = () => {
    const found = box.current;
    if (found) atEnd.current = found.scrollHeight - found.scrollTop - found.clientHeight < 24;
  };
  return { box, onScroll };
}

export function NodeLogsTab() {
  const node = useNode();
  const search = useSearch({ from: "/app/nodes/$name/logs" });
  const navigate = useNavigate({ from: "/nodes/$name/logs" });
  const replica = node.replicas.find((row) => row.id === search.replica) ?? node.replicas[0];
  const log = useReplicaLog(replica);
  const needle = (search.q ?? "").toLowerCase();
  const lines = (log.data ?? []).filter((line) => line.text.toLowerCase().includes(needle));
  const { box, onScroll } = useFollow(lines.at(-1)?.id ?? 0);
  if (!replica) {
    return (
      <Card>
        <EmptyState title={t`Nothing runs here`} detail={t`The logs of replicas appear here while they run; endpoints keep them longer.`} />
      </Card>
    );
  }
  return (
    <>
      <div className={toolbar["toolbar"]}>
        <Select
          aria-label={t`Replica`}
          w={280}
          data={node.replicas.map((row) => ({ value: row.id, label: `${row.endpoint} / ${row.deployment} ${row.ordinal}` }))}
          value={replica.id}
          onChange={(value) => void navigate({ search: (old) => ({ ...old, replica: value ?? undefined }), replace: true })}
        />
        <ListFilter
          label={t`Filter lines`}
          value={search.q ?? ""}
          onChange={(q) => void navigate({ search: (old) => ({ ...old, q: q || undefined }), replace: true })}
        />
        <LinkButton
          {...paths.endpointLogs(replica.endpoint, replica.deployment, replica.id)}
          variant="default"
          className={toolbar["end"] ?? ""}
        >
          <Trans>Earlier lines, levels, download</Trans>
        </LinkButton>
      </div>
      {log.error && !log.data ? (
        <ProblemCard error={log.error} title={t`The log could not be loaded`} onRetry={() => void log.refetch()} />
      ) : null}
      {log.isPending ? <SkeletonRows label={t`Loading the log`} /> : null}
      {log.data ? (
        <div className={classes["log"]} ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={t`Log lines`}>
          {lines.map((line) => (
            <div key={line.id} data-level={line.level || undefined}>
              <time dateTime={line.at} title={zonedTime(line.at)}>
                {clock(line.at)}
              </time>{" "}
              {line.text}
            </div>
          ))}
          {lines.length === 0 ? (
            <div className="muted">{needle ? t`No line matches the filter` : t`It has not said anything yet`}</div>
          ) : null}
        </div>
      ) : null}
    </>
  );
}
