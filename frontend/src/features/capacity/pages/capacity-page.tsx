/** What the fleet has, what of it is idle, what deployments could carry and cost, and what a lost node would do. */
import { plural, t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { capacityQuery } from "@/api/capacity";
import { useSeesInstallation } from "@/api/permissions";
import type { Capacity } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { LoadProblem } from "@/components/forbidden";
import { bytes, significant } from "@/components/format";
import { PageHeader, usePageTitle } from "@/components/page-header";
import { SkeletonRows } from "@/components/skeleton";
import classes from "../components/capacity.module.css";
import { DeploymentsCard } from "../components/deployments-card";
import { NodesCard } from "../components/nodes-card";
import { UseBar } from "../components/use-bar";
import { WasteCard } from "../components/waste-card";
import { money } from "../money";

type ProjectRow = Capacity["projects"][number];

const projectColumns = (currency: string): Column<ProjectRow>[] => [
  { id: "project", header: t`Project`, cell: (row) => <b>{row.project}</b> },
  { id: "replicas", header: t`Replicas`, align: "right", cell: (row) => row.replicas },
  { id: "gpus", header: "GPUs", align: "right", hideBelow: "sm", cell: (row) => row.gpus },
  { id: "hour", header: t`Per hour`, align: "right", cell: (row) => money(row.per_hour, currency) },
  { id: "day", header: t`Per day`, align: "right", hideBelow: "sm", cell: (row) => money(row.per_day, currency) },
];

function Totals({ capacity }: { capacity: Capacity }) {
  const { processors, memory, gpus, gpu_memory } = capacity.totals;
  return (
    <Card
      title={t`All nodes together`}
      hint={t`${capacity.nodes_online} of ${plural(capacity.nodes, { one: "# node", other: "# nodes" })} online`}
    >
      <div className={classes["totals"]}>
        <UseBar label={t`Processors`} amount={processors} show={significant} />
        <UseBar label={t`Memory`} amount={memory} show={bytes} />
        {gpus.total > 0 ? <UseBar label="GPUs" amount={gpus} show={significant} /> : null}
        {gpu_memory.total > 0 ? <UseBar label={t`GPU memory`} amount={gpu_memory} show={bytes} /> : null}
      </div>
    </Card>
  );
}

export function CapacityPage() {
  usePageTitle(t`Capacity`);
  const all = useSeesInstallation();
  const { data, error, isPending, refetch } = useQuery(capacityQuery());
  return (
    <>
      <PageHeader title={t`Capacity`} />
      <div className={classes["page"]}>
        {error && !data ? <LoadProblem error={error} what={t`The capacity`} needs="read" onRetry={() => void refetch()} /> : null}
        {isPending ? <SkeletonRows rows={2} label={t`Loading the capacity`} /> : null}
        {data && data.nodes > 0 ? <Totals capacity={data} /> : null}
        {all ? <NodesCard /> : null}
        <DeploymentsCard capacity={data} />
        {data?.priced && data.projects.length > 0 ? (
          <Card title={t`Projects`} hint={t`what runs now, by the prices that are set`} flush>
            <DataTable
              label={t`Cost of projects`}
              columns={projectColumns(data.currency)}
              rows={data.projects}
              rowKey={(row) => row.project}
            />
          </Card>
        ) : null}
        <WasteCard />
      </div>
    </>
  );
}
