/** Where the time of one call went. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Card } from "@/components/card";
import { duration } from "@/components/format";
import { Chip } from "@/components/status";
import shared from "../console.module.css";
import classes from "./latency-strip.module.css";
import type { Timing } from "@/inference/socket/messages";
import { latencySegments } from "./latency";

export function LatencyStrip({ timing, roundTripUs, first }: { timing: Timing; roundTripUs: number; first: boolean }) {
  const segments = latencySegments(timing, roundTripUs);
  const words = segments.map((segment) => `${segment.label} ${duration(segment.us)}`).join(", ");
  return (
    <Card
      title={t`Time`}
      hint={t`${duration(roundTripUs)} from the browser and back`}
      actions={
        first ? (
          <Chip>
            <Trans>first request includes warm-up</Trans>
          </Chip>
        ) : undefined
      }
    >
      <div className={classes["strip"]} role="img" aria-label={words}>
        {segments.map((segment) =>
          segment.us ? (
            <span
              key={segment.key}
              style={{ flexGrow: segment.us, background: segment.colour }}
              title={`${segment.label} ${duration(segment.us)}`}
            />
          ) : null,
        )}
      </div>
      <ul className={shared["legend"]} aria-hidden>
        {segments.map((segment) => (
          <li key={segment.key}>
            <i style={{ background: segment.colour }} />
            <span>{segment.label}</span>
            <strong>{duration(segment.us)}</strong>
          </li>
        ))}
      </ul>
    </Card>
  );
}
