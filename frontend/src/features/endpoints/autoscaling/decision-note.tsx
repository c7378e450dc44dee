/** What the autoscaler decided last, and what stands in its way. */
import { t } from "@lingui/core/macro";
import type { Deployment } from "@/api/types";
import { Time } from "@/components/time";
import { serverText } from "@/i18n/server-text";

// What does not pass by itself; the overview names the same.
const STUCK = new Set(["OutOfCapacity", "LastChangeFailed", "ProjectQuotaExceeded"]);

/** Whether somebody must do something for its policy to be carried out. */
export const isStuck = ({ autoscale, autoscaling }: Pick<Deployment, "autoscale" | "autoscaling">): boolean =>
  autoscale !== null && STUCK.has(autoscaling?.blocked_by ?? "");

export function DecisionNote({ deployment }: { deployment: Deployment }) {
  const { autoscale: policy, autoscaling: decided } = deployment;
  if (!policy) return null;
  return (
    <p role="note" aria-label={t`Autoscaling of ${deployment.name}`}>
      <b>{policy.enabled ? t`Autoscaled, ${policy.min} to ${policy.max}` : t`Autoscaled, ${policy.min} to ${policy.max}, paused`}</b>
      {decided ? (
        <>
          : {decided.reason} {decided.blocked ? <b>{serverText(decided.blocked)} </b> : null}
          <span className="muted">
            (<Time at={decided.decided_at} />)
          </span>
        </>
      ) : (
        t`: not looked at yet.`
      )}
    </p>
  );
}
