/** What was sent to a channel, and what came of each try. */
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
import { cameOf, DELIVERY_TONES } from "../words";

export function DeliveriesCard({ channel, onClose }: { channel: string; onClose: () => void }) {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(deliveriesQuery(channel));
  const replay = useMutation({
    mutationFn: replayDelivery,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.alerts.deliveries(channel) });
      notifyDone("It is sent once more");
    },
    onError: (problem) => notifyProblem(problem, "It was not sent once more"),
  });
  const columns: Column<Delivery>[] = [
    { id: "made", header: "Made", width: 130, cell: (row) => <Time at={row.created_at} /> },
    { id: "event", header: "What", width: 90, cell: (row) => row.event },
    { id: "status", header: "Status", width: 120, cell: (row) => <Status state={row.status} tone={DELIVERY_TONES[row.status]} /> },
    { id: "tries", header: "Tries", align: "right", width: 60, cell: (row) => row.attempts },
    { id: "came", header: "What came", cell: cameOf },
    {
      id: "next",
      header: "Next try",
      width: 120,
      hideBelow: "md",
      cell: (row) => (row.next_at ? <Time at={row.next_at} /> : "–"),
    },
    actionsColumn(
      (row) => (
        <Button variant="default" disabled={replay.isPending} onClick={() => replay.mutate(row)}>
          Send again
        </Button>
      ),
      120,
    ),
  ];
  return (
    <Card
      title={`Sent to ${channel}`}
      actions={
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      }
      flush
      className={classes["below"] ?? ""}
    >
      {error && !data ? (
        <LoadProblem error={error} what="What was sent" needs="operate" onRetry={() => void refetch()} />
      ) : (
        <DataTable
          label={`Sent to ${channel}`}
          columns={columns}
          rows={data}
          rowKey={(row) => row.id}
          loading={isPending}
          compact
          empty={<EmptyState title="Nothing was sent yet" detail="A test shows whether it works." />}
        />
      )}
    </Card>
  );
}
