/** Golden cases of a model: asked of a deployment, compared, accepted, and how much an answer may differ. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Menu, Select } from "@mantine/core";
import { IconCheck, IconFolderOpen, IconRulerMeasure } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { acceptTestCase, runTestCases, testCasesQuery } from "@/api/test-cases";
import type { Endpoint, TestCaseSummary, TestOutcome } from "@/api/types";
import { actionsColumn, RowMenu } from "@/components/actions-column";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { MISSING, seconds } from "@/components/format";
import { notifyDone, notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { Status } from "@/components/status";
import classes from "./golden-card.module.css";
import { OUTCOMES, summary, targetsOf } from "./outcomes";
import { ToleranceDialog } from "./tolerance-dialog";

export interface GoldenCardProps {
  endpoint: Endpoint;
  model: string;
  /** What the console sends to; null: by traffic. */
  deployment: string | null;
  onOpen: (id: string) => void;
}

interface Row {
  saved: TestCaseSummary;
  outcome: TestOutcome | undefined;
}

export function GoldenCard({ endpoint, model, deployment, onOpen }: GoldenCardProps) {
  const targets = targetsOf(endpoint);
  const [picked, setPicked] = useState<string | null>(null);
  const target = [picked, deployment].find((name) => name !== null && targets.includes(name)) ?? targets[0] ?? "";
  const [outcomes, setOutcomes] = useState<{ deployment: string; cases: TestOutcome[] } | null>(null);
  const [tolerance, setTolerance] = useState<TestCaseSummary | null>(null);
  const refusal = useRefusal("invoke");
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(testCasesQuery(model));
  const run = useMutation({ mutationFn: () => runTestCases(endpoint.name, target), onSuccess: setOutcomes });
  const accept = useMutation({
    mutationFn: (saved: TestCaseSummary) => acceptTestCase(endpoint.name, target, saved.id),
    onSuccess: async ({ cases }, saved) => {
      const [answered] = cases;
      if (answered?.status === "refused" || answered?.status === "unanswered") {
        notifyProblem(new Error(answered.text), t`${saved.name} stays as it is`);
        return;
      }
      setOutcomes(null);
      await queryClient.invalidateQueries({ queryKey: keys.testCases.all });
      notifyDone(t`${saved.name} expects what ${target} answers`);
    },
    onError: (problem, saved) => notifyProblem(problem, t`${saved.name} stays as it is`),
  });
  if (error) return <ProblemCard error={error} title={t`The saved cases could not be loaded`} onRetry={() => void refetch()} />;
  if (!data || data.items.length === 0) return null;
  const golden = data.items.filter((saved) => saved.golden);
  const rows: Row[] = data.items.map((saved) => ({ saved, outcome: outcomes?.cases.find((one) => one.id === saved.id) }));
  const columns: Column<Row>[] = [
    { id: "case", header: t`Case`, cell: ({ saved }) => saved.name },
    {
      id: "outcome",
      header: outcomes ? t`Answer of ${outcomes.deployment}` : t`Answer`,
      cell: ({ saved, outcome }) =>
        outcome ? (
          <Status state={OUTCOMES[outcome.status].word} tone={OUTCOMES[outcome.status].tone} />
        ) : (
          <span className="secondary">{saved.golden ? t`not asked` : t`expects nothing`}</span>
        ),
    },
    { id: "text", header: t`Difference`, cell: ({ outcome }) => <span className={classes["text"]}>{outcome?.text ?? ""}</span> },
    { id: "took", header: t`Took`, align: "right", hideBelow: "md", cell: ({ outcome }) => (outcome ? seconds(outcome.seconds) : MISSING) },
    actionsColumn(({ saved }) => (
      <RowMenu of={t`the case ${saved.name}`}>
        <Menu.Item leftSection={<IconFolderOpen size={16} />} onClick={() => onOpen(saved.id)}>
          <Trans>Open in the console</Trans>
        </Menu.Item>
        <Menu.Item
          leftSection={<IconCheck size={16} />}
          disabled={refusal !== undefined || target === ""}
          title={refusal}
          onClick={() => accept.mutate(saved)}
        >
          <Trans>Expect what {target} answers</Trans>
        </Menu.Item>
        <Menu.Item
          leftSection={<IconRulerMeasure size={16} />}
          disabled={refusal !== undefined}
          title={refusal}
          onClick={() => setTolerance(saved)}
        >
          <Trans>Tolerance</Trans>
        </Menu.Item>
      </RowMenu>
    )),
  ];
  return (
    <Card
      title={t`Golden cases`}
      hint={
        outcomes
          ? summary(outcomes.cases)
          : t`${plural(golden.length, { one: "# case", other: "# cases" })} of ${model} with an expected answer`
      }
      actions={
        <>
          <Select
            aria-label={t`Deployment to ask`}
            w={180}
            allowDeselect={false}
            value={target}
            data={targets}
            onChange={(next) => {
              setPicked(next);
              setOutcomes(null);
            }}
          />
          <RefusingButton
            needs="invoke"
            variant="default"
            loading={run.isPending}
            disabled={golden.length === 0 || target === ""}
            title={golden.length === 0 ? t`No case expects an answer yet` : undefined}
            onClick={() => run.mutate()}
          >
            <Trans>Run</Trans>
          </RefusingButton>
        </>
      }
      flush
    >
      {run.error ? <ProblemCard error={run.error} title={t`The cases were not asked`} /> : null}
      <DataTable label={t`Golden cases`} columns={columns} rows={rows} rowKey={({ saved }) => saved.id} compact />
      {tolerance ? (
        <ToleranceDialog
          id={tolerance.id}
          onClose={() => setTolerance(null)}
          onSaved={() => {
            setOutcomes(null);
            setTolerance(null);
          }}
        />
      ) : null}
    </Card>
  );
}
