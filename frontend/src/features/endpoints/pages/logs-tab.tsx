/** What the replicas of a deployment write. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Select, Switch } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconZoomReset } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Deployment, LogLine } from "@/api/types";
import { parseRange } from "@/app/time-range";
import { downloadFile } from "@/components/download";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { ListFilter } from "@/components/list-filter";
import { notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RangeFields } from "@/components/range-fields";
import { Segmented } from "@/components/segmented";
import { SkeletonRows } from "@/components/skeleton";
import toolbar from "@/components/toolbar.module.css";
import { LogView } from "../components/log-view";
import { useEndpoint } from "../hooks/use-endpoint";
import { type LogSearch, useLogLines } from "../hooks/use-log-lines";
import { expressionOf } from "../log-buffer";
import classes from "./logs-tab.module.css";
import { count } from "@/components/format";

const isoTime = (seconds: number) => new Date(seconds * 1000).toISOString();

const asText = (lines: readonly LogLine[]): string =>
  lines.map((line) => `${line.at} ${line.replica_id} ${line.stream} ${line.text}`).join("\n");

function Log({ endpoint, deployment }: { endpoint: string; deployment: Deployment }) {
  const search = useSearch({ from: "/app/endpoints/$name/logs" });
  const navigate = useNavigate({ from: "/endpoints/$name/logs" });
  const [paused, setPaused] = useState(false);
  const text = search.q ?? "";
  const expression = useMemo(() => expressionOf(text), [text]);
  const [wanted] = useDebouncedValue(expression ? "" : text, 250);
  const range = parseRange(search.range);
  const times = range?.kind === "fixed" ? { since: isoTime(range.from), until: isoTime(range.to) } : {};
  const searched = { q: wanted, level: search.level, stream: search.stream, replica: search.replica, ...times } as LogSearch;
  const { lines, loading, error, retry, earlier } = useLogLines(endpoint, deployment.name, searched, paused);
  const ordinals = useMemo(() => new Map(deployment.replicas.map((replica) => [replica.id, replica.ordinal])), [deployment.replicas]);
  const [fetching, setFetching] = useState(false);
  // With the one that is chosen: without a line that fits it could not be taken away again.
  const writers = [...lines.map((line) => line.replica_id), ...(search.replica ? [search.replica] : [])];
  const gone = [...new Set(writers)].filter((id) => !ordinals.has(id));
  const back = async () => {
    if (!earlier) return;
    setFetching(true);
    try {
      await earlier();
    } catch (problem) {
      notifyProblem(problem, t`Earlier lines could not be read`);
    } finally {
      setFetching(false);
    }
  };
  const shown = useMemo(() => (expression ? lines.filter(expression.test) : lines), [lines, expression]);
  const filtered = Boolean(text || search.level || search.stream || search.replica || range);
  const set = (change: Partial<typeof search>) => void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  return (
    <Card flush>
      <div className={`${toolbar["toolbar"]} ${classes["bar"]}`}>
        <ListFilter label={t`Filter, or /expression/`} value={search.q ?? ""} onChange={(q) => set({ q: q || undefined })} />
        <Segmented
          label={t`Container`}
          value={search.stream ?? "all"}
          options={[
            { value: "all", label: t`All` },
            { value: "inference-server", label: t`Server` },
            { value: "storage-initializer", label: t({ message: "Download", context: "bytes" }) },
          ]}
          onChange={(value) => set({ stream: value === "all" ? undefined : value })}
        />
        <Segmented
          label={t`Level`}
          value={search.level ?? "all"}
          options={[
            { value: "all", label: t`All` },
            { value: "warn", label: t`Warnings` },
            { value: "error", label: t`Errors` },
          ]}
          onChange={(value) => set({ level: value === "all" ? undefined : value })}
        />
        {deployment.replicas.length + gone.length > 1 ? (
          <Select
            aria-label={t`Replica`}
            w={160}
            value={search.replica ?? ""}
            data={[
              { value: "", label: t`All replicas` },
              ...deployment.replicas.map((replica) => ({ value: replica.id, label: t`Replica ${replica.ordinal}` })),
              ...gone.map((id) => ({ value: id, label: t`${id.slice(0, 8)}, gone` })),
            ]}
            onChange={(value) => set({ replica: value || undefined })}
          />
        ) : null}
        <RangeFields range={range} onChange={(typed) => set({ range: typed })} />
        {range ? (
          <Button variant="default" leftSection={<IconZoomReset size={15} />} onClick={() => set({ range: undefined })}>
            <Trans>Any time</Trans>
          </Button>
        ) : null}
        <span className="secondary">
          {loading
            ? null
            : expression
              ? t`${count(shown.length)} of ${count(lines.length)} lines`
              : plural(lines.length, { one: "# line", other: "# lines" })}
        </span>
        {expression?.error ? (
          <span className={classes["bad"]} role="alert">
            {expression.error}
          </span>
        ) : null}
        {expression && !expression.error && earlier ? (
          <span className="secondary" role="status">
            <Trans>An expression looks at the lines that are loaded: earlier ones are not.</Trans>
          </span>
        ) : null}
        <span className={`${toolbar["end"]} ${classes["buttons"]}`}>
          <Button
            variant="default"
            leftSection={paused ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
            onClick={() => setPaused(!paused)}
          >
            {paused ? t`Resume` : t`Pause`}
          </Button>
          <Switch
            label={t`Wrap`}
            checked={search.wrap !== "off"}
            onChange={(event) => set({ wrap: event.currentTarget.checked ? undefined : "off" })}
          />
          <Button variant="default" loading={fetching} disabled={!earlier} onClick={() => void back()}>
            <Trans>Earlier lines</Trans>
          </Button>
          <Button
            variant="default"
            leftSection={<IconDownload size={15} />}
            disabled={shown.length === 0}
            onClick={() => downloadFile(`${endpoint}-${deployment.name}.log`, "text/plain", asText(shown))}
          >
            <Trans>Download</Trans>
          </Button>
        </span>
      </div>
      {error ? (
        <div className={classes["pad"]}>
          <ProblemCard error={error} title={t`The log could not be read`} onRetry={retry} />
        </div>
      ) : null}
      {loading ? <SkeletonRows rows={8} label={t`Loading the log`} /> : null}
      {!loading && !error && filtered && shown.length === 0 ? (
        <EmptyState
          title={t`No line matches the filter`}
          detail={
            expression
              ? undefined
              : range
                ? t`All lines that are kept of these times were searched.`
                : t`All lines that are kept of this deployment were searched.`
          }
        />
      ) : null}
      {!loading && lines.length === 0 && !error && !filtered ? (
        <EmptyState title={t`No log lines yet`} detail={t`Lines appear within seconds of a replica's start.`} />
      ) : null}
      {shown.length > 0 ? (
        <LogView
          lines={shown}
          ordinals={ordinals}
          wrap={search.wrap !== "off"}
          marked={search.line}
          onMark={(line) => set({ line: search.line === line ? undefined : line })}
        />
      ) : null}
    </Card>
  );
}

export function LogsTab() {
  const endpoint = useEndpoint();
  const search = useSearch({ from: "/app/endpoints/$name/logs" });
  const navigate = useNavigate({ from: "/endpoints/$name/logs" });
  const deployment = endpoint.deployments.find((item) => item.name === search.dep) ?? endpoint.deployments[0];
  if (!deployment) {
    return (
      <Card>
        <EmptyState title={t`No deployments, so no logs`} />
      </Card>
    );
  }
  return (
    <>
      {endpoint.deployments.length > 1 ? (
        <div className={toolbar["toolbar"]}>
          <Segmented
            label={t`Deployment`}
            value={deployment.name}
            options={endpoint.deployments.map((item) => ({ value: item.name, label: item.name }))}
            onChange={(dep) => void navigate({ search: { dep }, replace: true })}
          />
        </div>
      ) : null}
      <Log key={deployment.name} endpoint={endpoint.name} deployment={deployment} />
    </>
  );
}
