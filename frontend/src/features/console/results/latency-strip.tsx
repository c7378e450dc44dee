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
  // why not in the bar: it is no part of serving, and where the model is quick it would be most of it.
  const serving = segments.filter((segment) => segment.key !== "studio");
  const studio = segments.find((segment) => segment.key === "studio")?.us ?? null;
  const words = serving.map((segment) => `${segment.label} ${duration(segment.us)}`).join(", ");
  return (
    <Card
      title={t`Time`}
      hint={timing.total_us === null ? undefined : t`${duration(timing.total_us)} as a client of the endpoint has it`}
      actions={
        first ? (
          <Chip>
            <Trans>first request includes warm-up</Trans>
          </Chip>
        ) : undefined
      }
    >
      <div className={classes["strip"]} role="img" aria-label={words}>
        {serving.map((segment) =>
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
        {serving.map((segment) => (
          <li key={segment.key}>
            <i style={{ background: segment.colour }} />
            <span>{segment.label}</span>
            <strong>{duration(segment.us)}</strong>
          </li>
        ))}
      </ul>
      {studio === null ? null : (
        <p className={`secondary ${classes["studio"]}`}>
          <Trans>
            This page had the answer after {duration(roundTripUs)}: {duration(studio)} of that are the browser's and the studio's own.
          </Trans>
        </p>
      )}
    </Card>
  );
}
