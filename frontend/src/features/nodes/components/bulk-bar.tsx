/** What is done to all ticked nodes at once. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
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

/** One call per node; those that could not be changed are named, the others are. */
async function each(names: readonly string[], change: (name: string) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(names.map(change));
  const failed = results.flatMap((result, index) =>
    result.status === "rejected" ? [{ name: names[index] ?? "", reason: result.reason as unknown }] : [],
  );
  for (const { name, reason } of failed) notifyProblem(reason, t`${name} could not be changed`);
  const done = names.length - failed.length;
  if (done > 0) notifyDone(plural(done, { one: "# node changed", other: "# nodes changed" }));
}

export function BulkBar({ chosen, onClear }: { chosen: readonly NodeItem[]; onClear: () => void }) {
  const queryClient = useQueryClient();
  const [draining, setDraining] = useState<readonly string[] | null>(null);
  const can = offersOf(chosen);
  const bar = useRef<HTMLDivElement>(null);
  const acted = useRef(false);
  const change = useMutation({
    mutationFn: ({ names, to }: { names: readonly string[]; to: (name: string) => Promise<unknown> }) => each(names, to),
    onMutate: () => {
      acted.current = true;
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.nodes.all }),
  });
  const drain = (names: readonly string[]) => {
    acted.current = true;
    setDraining(names);
  };
  // A button that has done its work goes off, and the focus with it: who acts by keyboard goes on from the bar, not from the top of the page.
  useEffect(() => {
    if (acted.current && !change.isPending && draining === null && document.activeElement === document.body)
      bar.current?.focus({ preventScroll: true });
  }, [change.isPending, draining, can.cordon.length, can.uncordon.length, can.drain.length]);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    // why the second: Escape in the dialog of this bar comes here too, and means the dialog.
    if (event.key === "Escape" && event.currentTarget.contains(event.target as Node)) onClear();
  };
  return (
    <div ref={bar} className={classes["bar"]} role="group" aria-label={t`Ticked nodes`} tabIndex={-1} onKeyDown={onKeyDown}>
      <strong role="status">{plural(chosen.length, { one: "# node ticked", other: "# nodes ticked" })}</strong>
      <RefusingButton
        needs="operate"
        variant="default"
        disabled={can.cordon.length === 0}
        loading={change.isPending}
        onClick={() => change.mutate({ names: can.cordon, to: cordonNode })}
      >
        <Trans>Cordon</Trans>
      </RefusingButton>
      <RefusingButton
        needs="operate"
        variant="default"
        disabled={can.uncordon.length === 0}
        loading={change.isPending}
        onClick={() => change.mutate({ names: can.uncordon, to: uncordonNode })}
      >
        <Trans>Uncordon</Trans>
      </RefusingButton>
      <RefusingButton needs="operate" variant="default" disabled={can.drain.length === 0} onClick={() => drain(can.drain)}>
        <Trans>Drain</Trans>
      </RefusingButton>
      <AsCodeButton recipe={() => bulkCordonRecipe(chosen.map((node) => node.name))} />
      <Button variant="subtle" onClick={onClear}>
        <Trans>Untick all</Trans>
      </Button>
      {draining ? <DrainModal names={draining} onClose={() => setDraining(null)} /> : null}
    </div>
  );
}
