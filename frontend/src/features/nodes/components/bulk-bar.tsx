/** What is done to all ticked nodes at once. */
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { cordonNode, uncordonNode } from "@/api/nodes";
import type { NodeItem } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { notifyDone, notifyProblem } from "@/components/notify";
import { RefusingButton } from "@/components/refusing-button";
import { bulkCordonRecipe } from "../recipes";
import { offersOf } from "../selection";
import classes from "./bulk-bar.module.css";
import { DrainModal } from "./drain-modal";

const counted = (count: number) => (count === 1 ? "1 node" : `${count} nodes`);

/** One call per node; those that could not be changed are named, the others are. */
async function each(names: readonly string[], change: (name: string) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(names.map(change));
  const failed = results.flatMap((result, index) => (result.status === "rejected" ? [{ name: names[index] ?? "", reason: result.reason as unknown }] : []));
  for (const { name, reason } of failed) notifyProblem(reason, `${name} could not be changed`);
  const done = names.length - failed.length;
  if (done > 0) notifyDone(`${counted(done)} changed`);
}

export function BulkBar({ chosen, onClear }: { chosen: readonly NodeItem[]; onClear: () => void }) {
  const queryClient = useQueryClient();
  const [draining, setDraining] = useState<readonly string[] | null>(null);
  const can = offersOf(chosen);
  const change = useMutation({
    mutationFn: ({ names, to }: { names: readonly string[]; to: (name: string) => Promise<unknown> }) => each(names, to),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.nodes.all }),
  });
  return (
    <div className={classes["bar"]} role="group" aria-label="Ticked nodes">
      <strong role="status">{counted(chosen.length)} ticked</strong>
      <RefusingButton
        needs="operate"
        variant="default"
        disabled={can.cordon.length === 0}
        loading={change.isPending}
        onClick={() => change.mutate({ names: can.cordon, to: cordonNode })}
      >
        Cordon
      </RefusingButton>
      <RefusingButton
        needs="operate"
        variant="default"
        disabled={can.uncordon.length === 0}
        loading={change.isPending}
        onClick={() => change.mutate({ names: can.uncordon, to: uncordonNode })}
      >
        Uncordon
      </RefusingButton>
      <RefusingButton needs="operate" variant="default" disabled={can.drain.length === 0} onClick={() => setDraining(can.drain)}>
        Drain
      </RefusingButton>
      <AsCodeButton recipe={() => bulkCordonRecipe(chosen.map((node) => node.name))} />
      <Button variant="subtle" onClick={onClear}>
        Untick all
      </Button>
      {draining ? <DrainModal names={draining} onClose={() => setDraining(null)} /> : null}
    </div>
  );
}
