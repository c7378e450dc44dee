/** Silences, those that end last first; ended ones stay for 90 days. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
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
      notifyDone(t`The silence has ended`);
    },
    onError: (problem) => notifyProblem(problem, t`The silence was not ended`),
  });
  if (error && !data) return <LoadProblem error={error} what={t`The silences`} needs="read" onRetry={() => void refetch()} />;
  const columns: Column<Silence>[] = [
    { id: "about", header: t`About`, cell: (row) => <b>{[row.rule, row.subject].filter(Boolean).join(", ") || t`everything`}</b> },
    { id: "project", header: t`Project`, hideBelow: "md", cell: (row) => row.project ?? t`all` },
    { id: "reason", header: t`Reason`, cell: (row) => row.reason },
    { id: "who", header: t`By`, hideBelow: "sm", cell: (row) => row.created_by },
    {
      id: "ends",
      header: t`Ends`,
      cell: (row) => (
        <>
          {ended(row) ? (
            <Trans>
              ended <Time at={row.ends_at} />
            </Trans>
          ) : (
            <Time at={row.ends_at} />
          )}
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
            <Trans>End now</Trans>
          </RefusingButton>
        ),
      110,
    ),
  ];
  return (
    <DataTable
      label={t`Silences`}
      columns={columns}
      rows={data}
      rowKey={(row) => row.id}
      loading={isPending}
      empty={
        <EmptyState
          icon={<IconBellOff size={30} stroke={1.4} />}
          title={t`Nothing was silenced`}
          detail={t`An alert that is known may be silenced from its menu.`}
        />
      }
    />
  );
}
