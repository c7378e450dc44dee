/** Begins a rollout: what share the candidate gets when, and what must be answered before it gets more. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { startRollout } from "@/api/rollouts";
import type { Endpoint } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { ConfirmModal } from "@/components/confirm-modal";
import { notifyDone } from "@/components/notify";
import { firstShare, PLAN, planBody } from "@/components/rollout-plan/plan";
import { PlanFields } from "@/components/rollout-plan/plan-fields";
import { OvertakenNote, useSaving } from "@/components/saving";
import { TrafficBar } from "@/components/traffic-bar";
import type { DeploymentDialogProps } from "../components/deployment-dialogs";
import { rolloutRecipe } from "../recipes";
import { sameSplit, type Split } from "../traffic";
import { sharesText } from "./rollout";

export function StartRolloutDialog({ endpoint, deployment, opened, onClose }: DeploymentDialogProps) {
  const client = useQueryClient();
  const share = endpoint.traffic[deployment.name] ?? 0;
  const starting = useSaving({
    thing: endpoint,
    part: (shown) => shown.traffic,
    same: sameSplit,
    shownBy: keys.endpoints.one(endpoint.name),
  });
  const [plan, setPlan] = useState(PLAN);
  const asked = planBody(plan, share);
  const first = firstShare(plan, share);
  const body = asked ? { deployment: deployment.name, ...asked } : null;
  const start = async (_: Split, { etag }: Endpoint) => {
    if (body === null) return;
    const begun = await startRollout(endpoint.name, body, etag);
    client.setQueryData(keys.endpoints.rollout(endpoint.name), begun);
    await client.invalidateQueries({ queryKey: keys.endpoints.one(endpoint.name) });
    notifyDone(t`${deployment.name} is being rolled out`);
    onClose();
  };
  return (
    <ConfirmModal
      opened={opened}
      onClose={() => {
        starting.discard();
        onClose();
      }}
      title={t`Roll out ${deployment.name}`}
      confirmLabel={first === null ? t`Begin` : t`Give ${deployment.name} ${first} %`}
      blocked={body === null || starting.overtaken !== null}
      onConfirm={() => starting.sendNow(start)}
    >
      <p>
        <Trans>
          {deployment.name} gets more of the traffic step by step, as long as it does no worse than what answers beside it: errors, refused
          requests, latencies, restarts. Where it does, the traffic goes back to {sharesText(endpoint.traffic)} by itself.
        </Trans>
      </p>
      <RulesNote rules={endpoint.traffic_rules.length} />
      <PlanFields plan={plan} onPlan={(part) => setPlan((old) => ({ ...old, ...part }))} share={share} focused />
      <OvertakenNote
        saving={starting}
        now={({ traffic }) => <TrafficBar traffic={traffic} />}
        takeLabel={t`Leave it so`}
        overLabel={t`Roll out all the same`}
        onTake={onClose}
        again={start}
      />
      {body ? <AsCodeButton wide recipe={() => rolloutRecipe(endpoint.name, body)} /> : null}
    </ConfirmModal>
  );
}

/** Gateways count what a rule sends like all else: the comparison takes it for drawn by lot. */
function RulesNote({ rules }: { rules: number }) {
  if (rules === 0) return null;
  return (
    <p className="secondary">
      <Trans>
        Requests that a rule by header sends count for the deployment that answers them, though no lot was drawn: where testers come by a
        rule, what they send can be what differs.
      </Trans>
    </p>
  );
}
