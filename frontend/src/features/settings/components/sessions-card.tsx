/** The browsers in which one is signed in. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { endSession, sessionsQuery } from "@/api/session";
import type { BrowserSession } from "@/api/types";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { notifyDone, notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Chip } from "@/components/status";
import { Time } from "@/components/time";
import { browserName } from "../browser-names";

export function SessionsCard() {
  const queryClient = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(sessionsQuery());
  const end = useMutation({
    mutationFn: (row: BrowserSession) => endSession(row.id),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.sessions });
      notifyDone(t`That browser is signed out`);
    },
    onError: (problem) => notifyProblem(problem, t`The browser could not be signed out`),
  });
  const columns: Column<BrowserSession>[] = [
    {
      id: "agent",
      header: t`Browser`,
      cell: (row) => (
        <span title={row.agent}>
          {browserName(row.agent)}{" "}
          {row.current ? (
            <Chip tone="ok">
              <Trans>this one</Trans>
            </Chip>
          ) : null}
        </span>
      ),
    },
    { id: "address", header: t`Address`, hideBelow: "sm", cell: (row) => <span className="mono">{row.address}</span> },
    { id: "began", header: t`Signed in`, hideBelow: "sm", cell: (row) => <Time at={row.created_at} /> },
    { id: "seen", header: t`Last seen`, cell: (row) => <Time at={row.last_seen_at} /> },
    {
      id: "end",
      header: (
        <span className="sr-only">
          <Trans>Sign out</Trans>
        </span>
      ),
      align: "right",
      cell: (row) =>
        row.current ? null : (
          <Button variant="default" loading={end.isPending && end.variables.id === row.id} onClick={() => end.mutate(row)}>
            <Trans>Sign out</Trans>
          </Button>
        ),
    },
  ];
  if (error && !data) return <ProblemCard error={error} title={t`Your sessions could not be loaded`} onRetry={() => void refetch()} />;
  return (
    <Card title={t`Sessions`} flush>
      <DataTable label={t`Sessions`} columns={columns} rows={data?.items} rowKey={(row) => String(row.id)} loading={isPending} />
    </Card>
  );
}
