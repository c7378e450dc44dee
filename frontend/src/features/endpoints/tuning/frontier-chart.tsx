/** What was measured: answers a second to the right, latency upwards; the frontier, what runs today, and the one to take. The table has the figures. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useElementSize } from "@mantine/hooks";
import { useId } from "react";
import type { Tuning, TuningSetting } from "@/api/types";
import { axisText } from "@/components/charts/units";
import load from "../load/load.module.css";
import { type Mark, pictureOf } from "./frontier";
import classes from "./tuning.module.css";
import { limitText, memoryText, percentileOf, runText, sameSetting, settingKey } from "./words";

const USUAL_WIDTH = 760;
const LEAST_WIDTH = 260;
/** Longer labels would lie over one another. */
const NARROW = 480;
const HEIGHT = 300;
/** So near to an edge a label would leave the picture. */
const EDGE = 110;

export interface FrontierChartProps {
  tuning: Tuning;
  /** Pointed out. */
  selected: TuningSetting | undefined;
  onSelect: (setting: TuningSetting) => void;
}

function labelOf({ run, today }: Mark, narrow: boolean): string {
  const memory = memoryText(run);
  if (run.chosen && narrow) return today ? t`chosen, runs today` : t`chosen`;
  if (run.chosen) return today ? t`chosen, runs today, ${memory}` : t`chosen, ${memory}`;
  if (today) return t`today`;
  return run.frontier && !narrow ? memory : "";
}

export function FrontierChart({ tuning, selected, onSelect }: FrontierChartProps) {
  const title = useId();
  const { ref, width: found } = useElementSize();
  // why measured: drawn smaller on a phone, its texts could not be read.
  const width = Math.max(LEAST_WIDTH, Math.round(found) || USUAL_WIDTH);
  const frame = { left: 64, top: 22, width: width - 64 - 16, height: HEIGHT - 22 - 46 };
  const { scales, marks, path } = pictureOf(tuning, frame);
  const [bottom, right] = [frame.top + frame.height, frame.left + frame.width];
  const yTexts = axisText("duration", scales.yTicks);
  const xTexts = axisText("decimal", scales.xTicks);
  const sloY = tuning.slo_ms === null ? null : scales.y(tuning.slo_ms * 1000);
  const [percentile, limit] = [percentileOf(tuning), limitText(tuning)];
  /** Below and to the right of the frontier nothing lies, so that its labels have room there. */
  const placed = ({ run, x, y }: Mark) => {
    const end = x > right - EDGE;
    return run.frontier
      ? { x: end ? x - 9 : x + 9, y: y + 19, textAnchor: end ? ("end" as const) : ("start" as const) }
      : { x, y: y - 12, textAnchor: x < frame.left + EDGE ? ("start" as const) : ("middle" as const) };
  };
  return (
    <div className={classes["picture"]}>
      <div ref={ref}>
        <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-labelledby={title} className={classes["svg"]}>
          <title
            id={title}
          >{t`${percentile} latency against answers a second, ${plural(marks.length, { one: "# configuration", other: "# configurations" })}; the table has the figures`}</title>
          {scales.yTicks.map((tick, index) => (
            <g key={tick}>
              <line className={load["grid"]} x1={frame.left} x2={right} y1={scales.y(tick)} y2={scales.y(tick)} />
              <text className={load["tick"]} x={frame.left - 8} y={scales.y(tick) + 4} textAnchor="end">
                {yTexts[index]}
              </text>
            </g>
          ))}
          {scales.xTicks.map((tick, index) => (
            <text key={tick} className={load["tick"]} x={scales.x(tick)} y={bottom + 18} textAnchor="middle">
              {xTexts[index]}
            </text>
          ))}
          <text className={load["tick"]} x={right} y={bottom + 38} textAnchor="end">
            <Trans>answers a second</Trans>
          </text>
          {sloY !== null && sloY >= frame.top ? (
            <g>
              <line className={load["slo"]} x1={frame.left} x2={right} y1={sloY} y2={sloY} />
              <text className={load["sloText"]} x={frame.left + 6} y={sloY - 5}>
                {t`objective: ${limit}`}
              </text>
            </g>
          ) : null}
          <path className={classes["frontier"]} d={path} />
          {marks.map((mark) => {
            const { run, x, y, today } = mark;
            return (
              <g
                key={settingKey(run.setting)}
                className={classes["mark"]}
                data-frontier={run.frontier || undefined}
                data-chosen={run.chosen || undefined}
                data-today={today || undefined}
                data-selected={(selected && sameSetting(selected, run.setting)) || undefined}
                onClick={() => onSelect(run.setting)}
              >
                <title>{runText(run, tuning)}</title>
                <circle className={classes["ring"]} cx={x} cy={y} r={13} />
                {today ? (
                  <rect className={classes["dot"]} x={x - 5} y={y - 5} width={10} height={10} />
                ) : (
                  <circle className={classes["dot"]} cx={x} cy={y} r={run.chosen ? 7 : 5} />
                )}
                <text {...placed(mark)}>{labelOf(mark, width < NARROW)}</text>
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}
