/** Responses of a stream as they come; one of them in full. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import type { ConsoleModel } from "@/api/types";
import { count, duration, significant } from "@/components/format";
import type { StreamPart } from "@/inference/socket/messages";
import shared from "../console.module.css";
import classes from "./stream-view.module.css";
import { labelsOf } from "./labels";
import { OutputView } from "./output-view";
import { partSummary, streamedText, streamFigures } from "./stream";

const ROW_PX = 30;

export interface StreamViewProps {
  parts: readonly StreamPart[];
  model: ConsoleModel | null;
  running: boolean;
}

export function StreamView({ parts, model, running }: StreamViewProps) {
  const box = useRef<HTMLOListElement>(null);
  const [picked, setPicked] = useState<number | null>(null);
  const rows = useVirtualizer({
    count: parts.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  useEffect(() => {
    // The newest stays in view while responses come and nothing was picked.
    if (running && picked === null && parts.length > 0) rows.scrollToIndex(parts.length - 1);
  }, [running, picked, parts.length, rows]);
  const figures = useMemo(() => streamFigures(parts), [parts]);
  const text = useMemo(() => streamedText(parts), [parts]);
  const shown = parts[picked ?? parts.length - 1];
  return (
    <>
      <div className={shared["output"]}>
        <div className={shared["stats"]} aria-live="off">
          <span>
            <Trans>
              responses <strong>{count(figures.count)}</strong>
            </Trans>
          </span>
          <span>
            <Trans>
              first after <strong>{duration(figures.firstUs)}</strong>
            </Trans>
          </span>
          <span>
            <Trans>
              between <strong>{duration(figures.betweenUs)}</strong>
            </Trans>
          </span>
          <span>
            <Trans>
              longest <strong>{duration(figures.longestUs)}</strong>
            </Trans>
          </span>
          <span>
            <Trans>
              per second <strong>{figures.rate === null ? "–" : significant(figures.rate)}</strong>
            </Trans>
          </span>
        </div>
        {text ? (
          <pre className={shared["raw"]} tabIndex={0} role="region" aria-label={t`Text of ${text.name}`}>
            {text.text}
          </pre>
        ) : null}
        <ol
          ref={box}
          className={classes["parts"]}
          aria-label={t`Responses`}
          style={{ height: Math.min(8, Math.max(1, parts.length)) * ROW_PX + 2 }}
        >
          <li aria-hidden style={{ height: rows.getTotalSize() }} />
          {rows.getVirtualItems().map(({ index, start }) => {
            const part = parts[index];
            if (!part) return null;
            return (
              <li key={part.index} className={classes["part"]} style={{ top: start, height: ROW_PX }}>
                <button type="button" aria-current={shown === part} onClick={() => setPicked(index)}>
                  <span className="secondary">{part.index}</span>
                  <span className="secondary">{duration(part.atUs)}</span>
                  <span className="secondary">+{duration(part.atUs - (parts[index - 1]?.atUs ?? 0))}</span>
                  <span className="mono truncate">{partSummary(part)}</span>
                </button>
              </li>
            );
          })}
        </ol>
      </div>
      {shown && !running
        ? shown.outputs.map((output) => (
            <OutputView
              key={`${shown.index} ${output.name}`}
              output={output}
              labels={labelsOf(model, output.name)}
              of={model?.name ?? ""}
            />
          ))
        : null}
    </>
  );
}
