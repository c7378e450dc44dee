/** What was sent to a channel, and what came of each try. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { deliveriesQuery, replayDelivery } from "@/api/alerts";
import { keys } from "@/api/keys";
import type { Delivery } from "@/api/types";
import { actionsColumn } from "@/components/actions-column";
import { Card } from "@/components/card";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { notifyDone, notifyProblem } from "@/components/notify";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import classes from "../alerts.module.css";
import { cameOf, DELIVERY_TONES, DELIVERY_WORDS, eventWord } from "../words";

export function DeliveriesCard({ channel, onClose }: { channel: string; onClose: () => void }) {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(deliveriesQuery(channel));
  const replay = useMutation({
    mutationFn: replayDelivery,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.alerts.deliveries(channel) });
      notifyDone(t`It is sent once more`);
    },
    onError: (problem) => notifyProblem(problem, t`It was not sent once more`),
  });
  const columns: Column<Delivery>[] = [
    { id: "made", header: t`Made`, width: 130, cell: (row) => <Time at={row.created_at} /> },
    { id: "event", header: t`What`, width: 90, cell: eventWord },
    {
      id: "status",
      header: t`Status`,
      width: 120,
      cell: (row) => <Status state={DELIVERY_WORDS[row.status]} tone={DELIVERY_TONES[row.status]} />,
    },
    { id: "tries", header: t`Tries`, align: "right", width: 60, cell: (row) => row.attempts },
    { id: "came", header: t`What came`, cell: cameOf },
    {
      id: "next",
      header: t`Next try`,
      width: 120,
      hideBelow: "md",
      cell: (row) => (row.next_at ? <Time at={row.next_at} /> : "–"),
    },
    actionsColumn(
      (row) => (
        <Button variant="default" disabled={replay.isPending} onClick={() => replay.mutate(row)}>
          <Trans>Send again</Trans>
        </Button>
      ),
      120,
    ),
  ];
  return (
    <Card
      title={t`Sent to ${channel}`}
      actions={
        <Button variant="default" onClick={onClose}>
          <Trans>Close</Trans>
        </Button>
      }
      flush
      className={classes["below"] ?? ""}
    >
      {error && !data ? (
        <LoadProblem error={error} what={t`What was sent`} needs="operate" onRetry={() => void refetch()} />
      ) : (
        <DataTable
          label={t`Sent to ${channel}`}
          columns={columns}
          rows={data}
          rowKey={(row) => row.id}
          loading={isPending}
          compact
          empty={<EmptyState title={t`Nothing was sent yet`} detail={t`A test shows whether it works.`} />}
        />
      )}
    </Card>
  );
}
