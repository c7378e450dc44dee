/** What of one thing is used, what is promised beyond that, and what is idle. */
import { Trans } from "@lingui/react/macro";
import type { CapacityAmount } from "@/api/types";
import { MISSING } from "@/components/format";
import classes from "./capacity.module.css";

const width = (part: number, total: number) => `${Math.min(1, Math.max(0, part / total)) * 100}%`;

export function UseBar({ amount, show, label }: { amount: CapacityAmount; show: (value: number) => string; label?: string }) {
  const { total, promised, used, idle } = amount;
  if (total === 0) return <span className="muted">{MISSING}</span>;
  return (
    <span className={classes["use"]}>
      <span className={classes["words"]}>
        {label ? <span className="muted">{label}</span> : null}
        <span>
          <Trans>
            {show(idle)} of {show(total)} idle
          </Trans>
        </span>
      </span>
      <span className={classes["track"]} aria-hidden>
        <span className={classes["used"]} style={{ width: width(used, total) }} />
        <span className={classes["promised"]} style={{ width: width(Math.min(promised, total) - used, total) }} />
      </span>
      <span className="secondary">
        <Trans>
          {show(used)} used, {show(promised)} promised
        </Trans>
      </span>
    </span>
  );
}

export function Legend() {
  return (
    <span className={classes["legend"]}>
      <Trans>
        <span className={classes["keyUsed"]} aria-hidden /> used
        <span className={classes["keyPromised"]} aria-hidden /> promised, not used
        <span className={classes["keyIdle"]} aria-hidden /> idle
      </Trans>
    </span>
  );
}
