/** A small histogram: what is now as bars, the baseline as steps over them. */
import { Trans } from "@lingui/react/macro";
import type { CaptureFeature } from "@/api/types";
import classes from "./data.module.css";
import { barsText } from "./words";

const WIDTH = 120;
const HEIGHT = 28;

export function Bars({ feature }: { feature: CaptureFeature }) {
  const { bars } = feature;
  if (bars.length === 0)
    return (
      <span className="muted">
        <Trans>none</Trans>
      </span>
    );
  const top = Math.max(...bars.flatMap((bar) => [bar.now, bar.baseline ?? 0])) || 1;
  const step = WIDTH / bars.length;
  const y = (share: number) => HEIGHT - (share / top) * HEIGHT;
  const outline = bars.map(({ baseline }, at) => `${at ? "L" : "M"}${at * step} ${y(baseline ?? 0)}H${(at + 1) * step}`).join("");
  return (
    <svg className={classes["bars"]} viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} role="img" aria-label={barsText(feature)}>
      {bars.map((bar, at) => (
        <rect key={bar.label} x={at * step + 0.5} width={Math.max(0.5, step - 1)} y={y(bar.now)} height={HEIGHT - y(bar.now)}>
          <title>{bar.label}</title>
        </rect>
      ))}
      {feature.baseline ? <path d={outline} /> : null}
    </svg>
  );
}
