/** The arms of an A/B test: the split asked and measured, how each does, and how sure it is that they differ. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { experimentQuery } from "@/api/experiments";
import type { Endpoint, ExperimentArm, ExperimentDifference } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { count, MISSING, percent } from "@/components/format";
import { LinkButton } from "@/components/link-button";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { metricText } from "@/metrics/registry";
import { DeploymentName } from "../components/deployments-card";
import { AnswersCard } from "./answers-card";
import { intervalText, type Range, RANGES, secondsOf, splitText, verdictOf } from "./experiment";
import { sure } from "../rollout/rollout";
import classes from "./experiment-view.module.css";

const of = (bad: number, all: number) => t`${all === 0 ? MISSING : percent(bad / all)} (${count(bad)} of ${count(all)})`;

const DIFFERENCES: Column<ExperimentDifference>[] = [
  { id: "title", header: t({ message: "Measure", context: "of an experiment" }), cell: (row) => row.title },
  { id: "own", header: t`This arm`, align: "right", cell: (row) => of(row.bad, row.of) },
  { id: "baseline", header: t`Baseline`, align: "right", hideBelow: "sm", cell: (row) => of(row.baseline_bad, row.baseline_of) },
  { id: "worse", header: t`Worse with`, align: "right", cell: (row) => sure(row.worse) },
  { id: "better", header: t`Better with`, align: "right", hideBelow: "sm", cell: (row) => sure(row.better) },
  { id: "needed", header: t`Said from`, align: "right", hideBelow: "md", cell: (row) => sure(row.needed) },
];

function columnsOf(names: readonly string[], baseline: string): Column<ExperimentArm>[] {
  return [
    {
      id: "deployment",
      header: t`Arm`,
      cell: (row) => (
        <>
          <DeploymentName name={row.deployment} all={names} />{" "}
          <span className="muted">
            {row.model} v{row.version}
          </span>
        </>
      ),
    },
    {
      id: "verdict",
      header: t`Verdict`,
      cell: (row) => {
        const { text, tone } = verdictOf(row, baseline);
        return <Chip tone={tone}>{text}</Chip>;
      },
    },
    { id: "split", header: t`Split`, hideBelow: "md", cell: splitText },
    { id: "requests", header: t`Requests`, align: "right", cell: (row) => count(row.requests) },
    { id: "failed", header: t`Failed`, align: "right", cell: (row) => percent(row.failed_share) },
    { id: "interval", header: t`95 % interval`, align: "right", hideBelow: "sm", cell: intervalText },
    { id: "p50", header: "p50", align: "right", hideBelow: "lg", cell: (row) => metricText("p50_us", row.p50_us) },
    { id: "p95", header: "p95", align: "right", hideBelow: "sm", cell: (row) => metricText("p95_us", row.p95_us) },
    { id: "p99", header: "p99", align: "right", hideBelow: "lg", cell: (row) => metricText("p99_us", row.p99_us) },
  ];
}

function ArmCard({ arm, names, baseline }: { arm: ExperimentArm; names: readonly string[]; baseline: string }) {
  return (
    <Card flush title={<DeploymentName name={arm.deployment} all={names} />} hint={t`beside ${baseline}`}>
      <div className={classes["body"]}>
        <p role="status">{arm.text}</p>
        {arm.golden ? (
          <p className="secondary">
            {arm.golden.text} <Time at={arm.golden.at} />
          </p>
        ) : null}
        {arm.answers ? (
          <p className="secondary">
            <Trans>
              It answered {count(arm.answers.differed)} of {count(arm.answers.inputs)} inputs otherwise than the stable version of its
              rollout, which differed from itself in {count(arm.answers.baseline_differed)} of {count(arm.answers.baseline_inputs)}.
            </Trans>
          </p>
        ) : null}
        {arm.rules.length > 0 ? <p className="secondary mono">{arm.rules.join("; ")}</p> : null}
      </div>
      <DataTable
        label={t`${arm.deployment} beside ${baseline}`}
        columns={DIFFERENCES}
        rows={arm.differences}
        rowKey={(row) => row.measure}
        compact
      />
    </Card>
  );
}

export interface ExperimentViewProps {
  endpoint: Endpoint;
  range: Range;
  /** Undefined: the largest share. */
  baseline?: string | undefined;
  onRange: (range: Range) => void;
  onBaseline: (name: string) => void;
}

export function ExperimentView({ endpoint, range, baseline: wanted, onRange, onBaseline }: ExperimentViewProps) {
  const query = { range: secondsOf(range), ...(wanted ? { baseline: wanted } : {}) };
  const { data: found, error, isPending, refetch } = useQuery(experimentQuery(endpoint.name, query));
  const names = endpoint.deployments.map((one) => one.name);
  const baseline = found?.baseline ?? "";
  return (
    <div className={classes["stack"]}>
      <div className={toolbar["toolbar"]}>
        <Segmented label={t`Time that is looked at`} value={range} options={RANGES} onChange={onRange} />
        {found && found.arms.length > 1 ? (
          <Select
            aria-label={t`Baseline`}
            leftSection={t`vs`}
            w={160}
            allowDeselect={false}
            data={found.arms.map((arm) => arm.deployment).toSorted()}
            value={baseline}
            onChange={(value) => (value ? onBaseline(value) : undefined)}
          />
        ) : null}
      </div>
      {error ? <ProblemCard error={error} title={t`The experiment could not be loaded`} onRetry={() => void refetch()} /> : null}
      {error && !found ? null : (
        <Card
          title={t`Arms`}
          hint={
            found?.changed_at ? (
              <>
                <Trans>
                  deployments with a share or a rule; changed last <Time at={found.changed_at} />
                </Trans>
              </>
            ) : (
              t`deployments with a share or a rule`
            )
          }
          flush
        >
          <DataTable
            label={t`Arms`}
            columns={columnsOf(names, baseline)}
            rows={found?.arms}
            rowKey={(row) => row.deployment}
            loading={isPending}
            empty={
              <EmptyState
                title={t`No deployment has a share or a rule`}
                detail={t`Give two deployments a share of the traffic, or one of them a rule, to compare them.`}
                action={
                  <LinkButton {...paths.endpointTab(endpoint.name, "deployments")} variant="default">
                    <Trans>Share the traffic out</Trans>
                  </LinkButton>
                }
              />
            }
          />
        </Card>
      )}
      {found?.arms.length === 1 ? (
        <p className="secondary">
          {found.arms[0]?.text} <Trans>There is nobody to compare it with: give another deployment a share or a rule.</Trans>
        </p>
      ) : null}
      {found && found.arms.length > 1 ? (
        // why a key: what was answered beside one baseline says nothing beside another
        <AnswersCard key={`${endpoint.name} ${baseline}`} endpoint={endpoint.name} baseline={baseline} names={names} />
      ) : null}
      {found?.notes.map((note) => (
        <p key={note} className="secondary">
          {note}
        </p>
      ))}
      {found?.arms.slice(1).map((arm) => (
        <ArmCard key={arm.deployment} arm={arm} names={names} baseline={baseline} />
      ))}
    </div>
  );
}
