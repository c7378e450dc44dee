/** Steps of an upload or an operation, one under the other, with their times. */
import { t } from "@lingui/core/macro";
import { useEffect, useState } from "react";
import type { StepStatus } from "@/api/types";
import { elapsed } from "@/components/format";
import { ToneIcon, type Tone } from "@/components/status";
import shared from "../deploy.module.css";
import classes from "./stage-list.module.css";

export interface Stage {
  name: string;
  title: string;
  status: StepStatus;
  detail: string | null;
  started_at: string | null;
  ended_at: string | null;
  /** 0 to 1 or 0 to 100; null when it cannot be told. */
  progress?: number | null;
}

const TONES: Record<StepStatus, Tone> = {
  pending: "idle",
  running: "info",
  succeeded: "ok",
  failed: "error",
  skipped: "idle",
  canceled: "idle",
};
const WORDS: Record<StepStatus, string> = {
  pending: t`waiting`,
  running: t`running`,
  succeeded: t`done`,
  failed: t`failed`,
  skipped: t`skipped`,
  canceled: t`canceled`,
};

/** Ticks while something runs, so that its time moves. */
function useNow(active: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!active) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 200);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}

/** Clocks that agree to the millisecond say nothing below one. */
function took(stage: Stage, now: number): string {
  if (stage.started_at !== null && stage.started_at === stage.ended_at) return t`< 1 ms`;
  return elapsed(stage.started_at, stage.ended_at, now);
}

export function StageList({ stages, label }: { stages: readonly Stage[]; label: string }) {
  const now = useNow(stages.some((stage) => stage.status === "running"));
  return (
    <ol className={classes["stages"]} aria-label={label}>
      {stages.map((stage) => (
        <li key={stage.name} className={classes["stage"]} data-status={stage.status}>
          <ToneIcon tone={TONES[stage.status]} label={WORDS[stage.status]} />
          <span className={classes["stageTitle"]}>{stage.title}</span>
          <span className={classes["stageTime"]}>{stage.status === "skipped" ? "skipped" : took(stage, now)}</span>
          {stage.detail ? (
            <span className={classes["stageDetail"]} data-tone={stage.status === "failed" ? "error" : undefined}>
              {stage.detail}
            </span>
          ) : null}
          {stage.status === "running" && typeof stage.progress === "number" ? (
            <span
              className={`${shared["bar"]} ${classes["stageBar"]}`}
              role="progressbar"
              aria-label={stage.title}
              aria-valuenow={Math.round(stage.progress * 100)}
              aria-valuemin={0}
              aria-valuemax={100}
            >
              <span style={{ width: `${Math.min(100, stage.progress * 100)}%` }} />
            </span>
          ) : null}
        </li>
      ))}
    </ol>
  );
}
