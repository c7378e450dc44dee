/** A log that stays fluent at 20,000 lines: only what is visible exists; it follows until one scrolls up. */
import { plural, t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import type { LogLine } from "@/api/types";
import { clock, zonedTime } from "@/components/format";
import { MAX_SHOWN } from "../log-buffer";
import classes from "./log-view.module.css";

const ROW = 24;
const NEAR_END = 40;

export interface LogViewProps {
  lines: readonly LogLine[];
  ordinals: ReadonlyMap<string, number>;
  /** Long lines go on in the next row instead of beyond the edge. */
  wrap: boolean;
  /** Id of the line that the link points to. */
  marked: number | undefined;
  onMark: (id: number) => void;
}

export function LogView({ lines, ordinals, wrap, marked, onMark }: LogViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(marked === undefined);
  const seen = useRef(0);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 20,
    getItemKey: (index) => lines[index]?.id ?? index,
  });
  const last = lines[lines.length - 1]?.id;
  useEffect(() => {
    if (!following || lines.length === 0) return;
    virtual.scrollToIndex(lines.length - 1, { align: "end" });
    seen.current = lines.length;
  }, [following, last, lines.length, virtual]);
  const found = marked === undefined ? -1 : lines.findIndex((line) => line.id === marked);
  const shown = useRef<number | undefined>(undefined);
  useEffect(() => {
    // why once per line: later lines and filters must not pull the view back to it.
    if (found < 0 || shown.current === marked) return;
    shown.current = marked;
    virtual.scrollToIndex(found, { align: "center" });
  }, [found, marked, virtual]);
  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END);
  };
  const unseen = Math.max(0, lines.length - seen.current);
  return (
    <div className={classes["wrap"]}>
      {/* why tabIndex: a box that scrolls must be reachable with the keyboard. */}
      <div
        ref={box}
        className={classes["box"]}
        data-wrap={wrap || undefined}
        onScroll={onScroll}
        role="log"
        aria-label={t`Log lines`}
        aria-live="off"
        tabIndex={0}
      >
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const line = lines[item.index];
            if (!line) return null;
            const cut = line.text.length > MAX_SHOWN;
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                data-level={line.level || undefined}
                data-marked={line.id === marked || undefined}
                className={classes["line"]}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <button
                  type="button"
                  className={classes["time"]}
                  title={t`${zonedTime(line.at)}, ${line.stream}: link to this line`}
                  onClick={() => onMark(line.id)}
                >
                  {clock(line.at)}
                </button>
                <span className={classes["replica"]} title={line.replica_id}>
                  {ordinals.get(line.replica_id) ?? "–"}
                </span>
                <span className={classes["text"]}>{cut ? t`${line.text.slice(0, MAX_SHOWN)} … (cut)` : line.text}</span>
              </div>
            );
          })}
        </div>
      </div>
      {following ? null : (
        <Button className={classes["follow"] ?? ""} leftSection={<IconArrowDown size={15} />} onClick={() => setFollowing(true)}>
          {unseen > 0 ? plural(unseen, { one: "# new line", other: "# new lines" }) : t`Follow`}
        </Button>
      )}
    </div>
  );
}
