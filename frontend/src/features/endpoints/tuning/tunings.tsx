/** Tunings of a deployment: begin one, look at one, and those there were. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { isUnderWay } from "@/api/runs";
import { tuningsQuery } from "@/api/tunings";
import type { Deployment, Endpoint, TuningSummary } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { MISSING } from "@/components/format";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import load from "../load/load.module.css";
import { TuningForm } from "./tuning-form";
import { TuningView } from "./tuning-view";
import { tuningTitle } from "./words";

const COLUMNS: Column<TuningSummary>[] = [
  { id: "what", header: t`Tuning`, cell: (row) => tuningTitle(row) },
  { id: "state", header: t`State`, cell: (row) => <Status state={row.state} /> },
  { id: "runs", header: t`Measured`, align: "right", cell: (row) => t`${row.measured} of ${row.configurations}` },
  {
    id: "applied",
    header: t`Saved as`,
    hideBelow: "sm",
    cell: (row) => (row.applied === null ? MISSING : t`configuration ${row.applied}`),
  },
  { id: "model", header: t`Model`, hideBelow: "md", cell: (row) => row.model },
  { id: "node", header: t`Node`, hideBelow: "md", cell: (row) => row.node },
  { id: "by", header: t`By`, hideBelow: "lg", cell: (row) => row.created_by },
  { id: "at", header: t`Started`, align: "right", cell: (row) => <Time at={row.created_at} /> },
];

export interface TuningsProps {
  endpoint: Endpoint;
  deployment: Deployment;
  /** The one that is looked at; else the newest. */
  asked: string | undefined;
  onLook: (id: string) => void;
}

export function Tunings({ endpoint, deployment, asked, onLook }: TuningsProps) {
  const { data: tunings, isPending } = useQuery(tuningsQuery(endpoint.name, deployment.name));
  const shown = asked ?? tunings?.[0]?.id;
  return (
    <div className={load["stack"]}>
      <TuningForm
        endpoint={endpoint}
        deployment={deployment}
        busy={tunings?.some(isUnderWay) ?? false}
        onBegun={(tuning) => onLook(tuning.id)}
      />
      {shown === undefined ? null : <TuningView key={shown} id={shown} deployment={deployment} />}
      <Card title={t`Tunings`} hint={t`kept for 90 days, 50 of a deployment`} flush>
        <DataTable
          label={t`Tunings`}
          columns={COLUMNS}
          rows={tunings}
          rowKey={(row) => row.id}
          onOpen={(row) => onLook(row.id)}
          loading={isPending}
          empty={
            <EmptyState
              title={t`Nothing was tuned yet`}
              detail={t`A search measures a tenth of the configurations, and says which serves the model best.`}
            />
          }
        />
      </Card>
    </div>
  );
}
