/** The deployment's log while it starts, following the end unless one scrolls up. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { readLogs } from "@/api/endpoints";
import { ApiProblem, problemText } from "@/api/problem";
import type { LogLine } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { clock } from "@/components/format";
import classes from "./log-tail.module.css";

const TAIL = 200;
const POLL_MS = 1_000;
const FOLD_AT = 2_000;
/** So long after the end the last lines are still on their way from the node. */
const LATE_MS = 15_000;

/** Whether lines still come: also a while after what wrote them has ended, where one saw it end. */
function useComing(unfinished: boolean): boolean {
  const [late, setLate] = useState(unfinished);
  useEffect(() => {
    if (unfinished) setLate(true);
    const timer = unfinished ? undefined : window.setTimeout(() => setLate(false), LATE_MS);
    return () => window.clearTimeout(timer);
  }, [unfinished]);
  return unfinished || late;
}

/** As they were written. They come stream by stream, each in its own order. */
const inTime = (lines: readonly LogLine[]): LogLine[] => [...lines].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));

/** `unfinished`: whether the deployment is still being made. */
export function LogTail({ endpoint, deployment, unfinished }: { endpoint: string; deployment: string; unfinished: boolean }) {
  const following = useComing(unfinished);
  const { data, error } = useQuery({
    queryKey: ["log-tail", endpoint, deployment],
    queryFn: ({ signal }) => readLogs(endpoint, deployment, { tail: TAIL }, signal),
    refetchInterval: following ? POLL_MS : false,
    retry: false,
  });
  const lines = useMemo(() => inTime(data?.lines ?? []), [data]);
  const box = useRef<HTMLPreElement>(null);
  const [pinned, setPinned] = useState(true);
  useEffect(() => {
    if (pinned && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.length, pinned]);
  // The deployment's row may not be there yet, or not any more.
  const missing = error instanceof ApiProblem && error.status === 404;
  return (
    <Card
      title={t`Log`}
      hint={
        following
          ? pinned
            ? t`following`
            : t`paused while you read`
          : lines.length === 1
            ? t`the only line`
            : t`last ${lines.length} lines`
      }
      actions={
        <Link {...paths.endpointLogs(endpoint, deployment)} className="link">
          <Trans>All logs</Trans>
        </Link>
      }
      flush
    >
      <pre
        ref={box}
        className={classes["log"]}
        tabIndex={0}
        role="log"
        aria-label={t`Log of ${deployment}`}
        aria-live="off"
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          setPinned(scrollHeight - scrollTop - clientHeight < 24);
        }}
      >
        {lines.length === 0 ? (
          <span className="muted">
            {error && !missing
              ? problemText(error)
              : following
                ? t`No lines yet. They appear as soon as the runtime starts.`
                : t`No lines were written.`}
          </span>
        ) : null}
        {lines.map((line) => (
          <Line key={line.id} line={line} />
        ))}
      </pre>
    </Card>
  );
}

function Line({ line }: { line: LogLine }) {
  const more = line.text.length - FOLD_AT;
  return (
    <span className={classes["logLine"]} data-level={line.level || undefined}>
      <span className={classes["logTime"]}>{clock(line.at)}</span>
      {more > 0 ? `${line.text.slice(0, FOLD_AT)} ${t`… (${more} more characters)`}` : line.text}
    </span>
  );
}
