/** Every GPU of a node as one bar: how high is how full its memory is, how dark how busy it is, if it tells. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import type { Gpu } from "@/api/types";
import { percent } from "@/components/format";
import { share } from "../share";
import classes from "./gpu-bars.module.css";

function words(gpu: Gpu): string {
  const memory = percent(share(gpu.memory_used_bytes, gpu.memory_total_bytes));
  const busy = percent(gpu.utilization);
  return t`GPU ${gpu.index}: memory ${memory}, busy ${busy}`;
}

export function GpuBars({ gpus }: { gpus: readonly Gpu[] }) {
  if (gpus.length === 0)
    return (
      <span className="muted">
        <Trans>none</Trans>
      </span>
    );
  const said = gpus.map(words).join("; ");
  return (
    <div className={classes["cell"]}>
      <span className="truncate">{`${gpus.length} × ${gpus[0]?.name ?? ""}`}</span>
      <span className={classes["bars"]} role="img" aria-label={said} title={said}>
        {gpus.map((gpu) => (
          <span key={gpu.uuid} className={classes["bar"]}>
            <span
              className={classes["fill"]}
              style={{
                height: `${100 * (share(gpu.memory_used_bytes, gpu.memory_total_bytes) ?? 0)}%`,
                opacity: 0.4 + 0.6 * (gpu.utilization ?? 1),
              }}
            />
          </span>
        ))}
      </span>
    </div>
  );
}
