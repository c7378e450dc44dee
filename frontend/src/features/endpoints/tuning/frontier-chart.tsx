/** What was measured: answers a second to the right, latency upwards; the frontier, what runs today, and the one to take. The table has the figures. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useElementSize } from "@mantine/hooks";
import { useId } from "react";
import type { Tuning, TuningSetting } from "@/api/types";
import { PointReader } from "@/components/charts/point-reader";
import { axisText } from "@/components/charts/units";
import load from "../load/load.module.css";
import { type Mark, pictureOf, placeLabels } from "./frontier";
import classes from "./tuning.module.css";
import { limitText, memoryText, percentileOf, readText, runText, sameSetting, settingKey } from "./words";

const LEAST_WIDTH = 260;
const HEIGHT = 300;

export interface FrontierChartProps {
  tuning: Tuning;
  /** Pointed out. */
  selected: TuningSetting | undefined;
  onSelect: (setting: TuningSetting) => void;
}

/** Most needed first: what finds no room is left to the tooltip and the table. */
function labelsOf(marks: readonly Mark[]): { mark: Mark; text: string }[] {
  const said = marks.flatMap((mark) => {
    const memory = memoryText(mark.run);
    if (mark.run.chosen) return [{ mark, text: mark.today ? t`chosen, runs today, ${memory}` : t`chosen, ${memory}`, rank: 0 }];
    if (mark.today) return [{ mark, text: t`today`, rank: 1 }];
    return mark.run.frontier ? [{ mark, text: memory, rank: 2 }] : [];
  });
  return said.toSorted((one, other) => one.rank - other.rank);
}

export function FrontierChart({ tuning, selected, onSelect }: FrontierChartProps) {
  const title = useId();
  const { ref, width: found } = useElementSize();
  // why measured: drawn smaller on a phone, its texts could not be read.
  const width = Math.max(LEAST_WIDTH, Math.round(found));
  const frame = { left: 64, top: 22, width: width - 64 - 16, height: HEIGHT - 22 - 46 };
  const { scales, marks, path, slo } = pictureOf(tuning, frame);
  const [bottom, right] = [frame.top + frame.height, frame.left + frame.width];
  const yTexts = axisText("duration", scales.yTicks);
  const xTexts = axisText("decimal", scales.xTicks);
  const [percentile, limit] = [percentileOf(tuning), limitText(tuning)];
  const labels = labelsOf(marks);
  const places = placeLabels(labels, marks, frame);
  return (
    <div className={classes["picture"]}>
      <div ref={ref} style={{ minHeight: HEIGHT }}>
        {found > 0 ? (
          <PointReader
            title={t`${percentile} latency against answers a second`}
            points={marks
              .toSorted((one, other) => one.x - other.x)
              .map(({ run }) => ({
                key: settingKey(run.setting),
                words: readText(run, tuning, selected !== undefined && sameSetting(selected, run.setting)),
              }))}
            onPick={(key) => {
              const picked = marks.find(({ run }) => settingKey(run.setting) === key);
              if (picked) onSelect(picked.run.setting);
            }}
          >
            {(read) => (
              <svg
                width={width}
                height={HEIGHT}
                viewBox={`0 0 ${width} ${HEIGHT}`}
                role="img"
                aria-labelledby={title}
                className={classes["svg"]}
              >
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
                {slo !== null ? (
                  <g>
                    <line className={load["slo"]} x1={frame.left} x2={right} y1={slo} y2={slo} />
                    <text className={load["sloText"]} x={frame.left + 6} y={slo - 5}>
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
                      data-read={read === settingKey(run.setting) || undefined}
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
                    </g>
                  );
                })}
                {labels.map(({ mark, text }, index) =>
                  places[index] ? (
                    <text
                      key={settingKey(mark.run.setting)}
                      {...places[index]}
                      className={classes["label"]}
                      data-strong={mark.run.chosen || mark.today || undefined}
                    >
                      {text}
                    </text>
                  ) : null,
                )}
              </svg>
            )}
          </PointReader>
        ) : null}
      </div>
    </div>
  );
}
