/** Silences, those that end last first; ended ones stay for 90 days. */
import { IconBellOff } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { endSilence, silencesQuery } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { Silence } from "@/api/types";
import { actionsColumn } from "@/components/actions-column";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { Time } from "@/components/time";

const ended = (silence: Silence) => new Date(silence.ends_at).getTime() <= Date.now();

export function SilencesList() {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(silencesQuery());
  const end = useMutation({
    mutationFn: endSilence,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.alerts.all });
      notifyDone("The silence has ended");
    },
    onError: (problem) => notifyProblem(problem, "The silence was not ended"),
  });
  if (error && !data) return <LoadProblem error={error} what="The silences" needs="read" onRetry={() => void refetch()} />;
  const columns: Column<Silence>[] = [
    { id: "about", header: "About", cell: (row) => <b>{[row.rule, row.subject].filter(Boolean).join(", ") || "everything"}</b> },
    { id: "project", header: "Project", hideBelow: "md", cell: (row) => row.project ?? "all" },
    { id: "reason", header: "Reason", cell: (row) => row.reason },
    { id: "who", header: "By", hideBelow: "sm", cell: (row) => row.created_by },
    {
      id: "ends",
      header: "Ends",
      cell: (row) => (
        <>
          {ended(row) ? "ended " : null}
          <Time at={row.ends_at} />
        </>
      ),
    },
    actionsColumn(
      (row) =>
        ended(row) ? null : (
          <RefusingButton
            needs={row.project === null ? "operate" : "deploy"}
            variant="default"
            disabled={end.isPending}
            onClick={() => end.mutate(row.id)}
          >
            End now
          </RefusingButton>
        ),
      110,
    ),
  ];
  return (
    <DataTable
      label="Silences"
      columns={columns}
      rows={data}
      rowKey={(row) => row.id}
      loading={isPending}
      empty={
        <EmptyState
          icon={<IconBellOff size={30} stroke={1.4} />}
          title="Nothing was silenced"
          detail="An alert that is known may be silenced from its menu."
        />
      }
    />
  );
}
