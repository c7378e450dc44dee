/** Emptying a node: what would move where, before anything does. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Checkbox, Modal, Select } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { drainNodes, drainPreviewQuery, type DrainRequest } from "@/api/nodes";
import type { DrainMove } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { type Column, DataTable } from "@/components/data-table";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import { drainSummary } from "../drain-summary";
import { drainRecipe } from "../recipes";
import classes from "./drain-modal.module.css";

const DEADLINES = [
  { value: "60", label: t`1 minute` },
  { value: "600", label: t`10 minutes` },
  { value: "3600", label: t`1 hour` },
  { value: "86400", label: t`1 day` },
];

const COLUMNS: Column<DrainMove>[] = [
  { id: "what", header: t`Replica`, cell: (row) => `${row.endpoint} / ${row.deployment} ${row.ordinal}` },
  { id: "traffic", header: t`Traffic`, align: "right", width: 70, cell: (row) => `${row.traffic}\u00a0%` },
  {
    id: "to",
    header: t`Goes to`,
    cell: (row) => (
      <>
        {row.to === null ? (
          <span className={classes["nowhere"]}>
            <ToneIcon tone="error" label={t`Nowhere to go`} size={14} /> {row.why_not || t`nowhere`}
          </span>
        ) : (
          row.to
        )}
        {row.waits_for ? <div className="secondary">{t`when ${row.waits_for} no more`}</div> : null}
      </>
    ),
  },
];

const FROM: Column<DrainMove> = { id: "from", header: t`Leaves`, cell: (row) => row.node };

const NAMED = 3;
/** As it stands in a title or on a button. */
const called = (names: readonly string[]) => (names.length > NAMED ? t`${names.length} nodes` : names.join(", "));

/** Mounted when it is opened, so that the preview is of that moment. */
export function DrainModal({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const queryClient = useQueryClient();
  const preview = useQuery(drainPreviewQuery(names));
  const [force, setForce] = useState(false);
  const [deadline, setDeadline] = useState("600");
  const what = called(names);
  const options: DrainRequest = { deadline_s: Number(deadline), ...(force ? { force } : {}) };
  const drain = useMutation({
    mutationFn: () => drainNodes(names, options),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.nodes.all });
      notifyDone(names.length === 1 ? t`${what} is being emptied` : t`${what} are being emptied`);
      onClose();
    },
  });
  const moves = preview.data?.moves;
  const summary = moves ? drainSummary(names, moves) : null;
  const stuck = (summary?.stuck.length ?? 0) > 0;
  return (
    <Modal opened onClose={onClose} title={t`Drain ${what}`} size={640} closeButtonProps={{ "aria-label": t`Close` }}>
      {preview.error ? (
        <ProblemCard error={preview.error} title={t`What would move is not known`} onRetry={() => void preview.refetch()} />
      ) : null}
      {preview.isPending ? <SkeletonRows label={t`Looking where everything would go`} /> : null}
      {summary && moves ? (
        <>
          <p className={classes["sentence"]} role="status">
            {summary.sentence}
          </p>
          {moves.length > 0 ? (
            <div className={classes["moves"]} tabIndex={0} role="region" aria-label={t`What moves`}>
              <DataTable
                label={t`What moves`}
                columns={names.length > 1 ? [FROM, ...COLUMNS] : COLUMNS}
                rows={moves}
                rowKey={(row) => row.replica}
                compact
              />
            </div>
          ) : null}
          {stuck ? (
            <Checkbox
              label={t`Drain all the same: what has nowhere to go stops at the deadline, and its endpoint may stop answering`}
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
            />
          ) : null}
          <Select
            label={t`Stop what is left after`}
            w={180}
            data={DEADLINES}
            value={deadline}
            onChange={(value) => setDeadline(value ?? "600")}
          />
        </>
      ) : null}
      {drain.error ? (
        <ProblemCard error={drain.error} title={names.length === 1 ? t`${what} is not drained` : t`${what} are not drained`} />
      ) : null}
      <div className={classes["actions"]}>
        <AsCodeButton recipe={() => drainRecipe(names, options)} />
        <Button variant="default" onClick={onClose}>
          <Trans>Cancel</Trans>
        </Button>
        <Button disabled={!summary || (stuck && !force)} loading={drain.isPending} onClick={() => drain.mutate()}>
          <Trans>Drain {what}</Trans>
        </Button>
      </div>
    </Modal>
  );
}
