/** The objectives of an endpoint: what is promised, what is left of the error budget, how fast it burns. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { objectivesQuery } from "@/api/alerts";
import { useRefusal } from "@/api/permissions";
import type { Endpoint, Objective } from "@/api/types";
import { actionsColumn } from "@/components/actions-column";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { count } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import { SkeletonRows } from "@/components/skeleton";
import { Status } from "@/components/status";
import { BudgetChart } from "./budget-chart";
import { ObjectiveDialog } from "./objective-dialog";
import classes from "./objectives.module.css";
import { RemoveDialog } from "./remove-dialog";
import { burnText, goodText, leftText, promise, STATE_TONES, STATE_WORDS } from "./words";

export function ObjectivesCard({ endpoint }: { endpoint: Endpoint }) {
  const refusal = useRefusal("deploy");
  const { data, error, refetch } = useQuery(objectivesQuery(endpoint.name));
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<string | null>(null);
  const columns: Column<Objective>[] = [
    { id: "name", header: t`Objective`, cell: (row) => <b>{row.name}</b> },
    { id: "promise", header: t`Promise`, cell: promise },
    { id: "good", header: t`Good`, align: "right", hideBelow: "sm", cell: (row) => goodText(row.good_percent) },
    { id: "requests", header: t`Requests`, align: "right", hideBelow: "lg", cell: (row) => count(row.requests) },
    { id: "left", header: t`Budget left`, align: "right", cell: (row) => leftText(row.budget_left) },
    { id: "burn", header: t`Burn rate`, hideBelow: "md", cell: burnText },
    {
      id: "state",
      header: t`State`,
      cell: (row) => <Status state={STATE_WORDS[row.state]} tone={STATE_TONES[row.state]} title={row.told} />,
    },
    actionsColumn((row) => (
      <ActionIcon
        aria-label={t`Remove ${row.name}`}
        disabled={refusal !== undefined}
        title={refusal ?? t`Remove ${row.name}`}
        onClick={() => setLeaving(row.name)}
      >
        <IconTrash size={16} />
      </ActionIcon>
    )),
  ];
  return (
    <Card
      title={t`Objectives`}
      hint={data?.length === 0 ? t`Say what share of the requests shall be good: alerts come before it is missed.` : undefined}
      actions={
        <RefusingButton needs="deploy" variant="default" leftSection={<IconPlus size={15} />} onClick={() => setAdding(true)}>
          <Trans>Set an objective</Trans>
        </RefusingButton>
      }
      flush
      className={classes["card"] ?? ""}
    >
      {error && !data ? <ProblemCard error={error} title={t`The objectives could not be loaded`} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <SkeletonRows rows={2} label={t`Loading the objectives`} /> : null}
      {data && data.length > 0 ? (
        <>
          <DataTable label={t`Objectives`} columns={columns} rows={data} rowKey={(row) => row.name} compact />
          {data.map((objective) => (objective.requests > 0 ? <BudgetChart key={objective.name} objective={objective} /> : null))}
        </>
      ) : null}
      {adding ? <ObjectiveDialog endpoint={endpoint} onClose={() => setAdding(false)} /> : null}
      {leaving ? <RemoveDialog endpoint={endpoint} name={leaving} onClose={() => setLeaving(null)} /> : null}
    </Card>
  );
}
