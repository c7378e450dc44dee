/** Before and after, how many requests move, and how each deployment did in the last minutes. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { readMetrics } from "@/api/endpoints";
import { type Column, DataTable } from "@/components/data-table";
import { TrafficBar } from "@/components/traffic-bar";
import { ALL } from "@/live/metric-keys";
import { METRICS, metricText } from "@/metrics/registry";
import { recent, type Recent, RECENT_METRICS } from "../recent";
import { moveSentence, type Split } from "../traffic";

const WINDOW_S = 300;
const STEP_S = 30;
/** A deployment that answered fewer requests than this has shown little yet. */
const FEW_REQUESTS = 20;

export interface TrafficPreviewProps {
  endpoint: string;
  names: readonly string[];
  before: Split;
  after: Split;
  shown: boolean;
}

type Row = Recent & { name: string };

const COLUMNS: Column<Row>[] = [
  { id: "name", header: t`Last 5 min`, cell: (row) => row.name },
  { id: "rate", header: t`Requests`, align: "right", cell: (row) => metricText("answers_2xx", row.rate) },
  { id: "p95", header: t`${METRICS.p95_us.label}, worst ${STEP_S} s`, align: "right", cell: (row) => metricText("p95_us", row.p95) },
  { id: "errors", header: METRICS.error_rate.title, align: "right", cell: (row) => metricText("error_rate", row.errors) },
];

export function TrafficPreview({ endpoint, names, before, after, shown }: TrafficPreviewProps) {
  const { data, isPending } = useQuery({
    queryKey: ["endpoints", "one", endpoint, "before-moving"],
    queryFn: ({ signal }) => readMetrics(endpoint, { range: WINDOW_S, step: STEP_S, metrics: RECENT_METRICS }, signal),
    enabled: shown,
    staleTime: 0,
  });
  const rows: Row[] = data ? names.map((name) => ({ name, ...recent(data, name) })) : [];
  const untried = rows.filter((row) => (after[row.name] ?? 0) > (before[row.name] ?? 0) && row.requests < FEW_REQUESTS);
  const untriedNames = untried.map((row) => row.name).join(", ");
  return (
    <>
      <p>
        <Trans>Before</Trans>
      </p>
      <TrafficBar traffic={before} />
      <p>
        <Trans>After</Trans>
      </p>
      <TrafficBar traffic={after} />
      <p>
        <b>{isPending ? t`Counting the requests` : moveSentence(before, after, data ? recent(data, ALL).rate : null)}</b>
      </p>
      <DataTable compact label={t`How the deployments did`} columns={COLUMNS} rows={rows} loading={isPending} rowKey={(row) => row.name} />
      {!isPending && untried.length > 0 ? (
        <p>
          <Trans>
            {untriedNames} answered fewer than {FEW_REQUESTS} requests in the last 5 minutes: test it directly first, or start with a small
            share.
          </Trans>
        </p>
      ) : null}
    </>
  );
}
