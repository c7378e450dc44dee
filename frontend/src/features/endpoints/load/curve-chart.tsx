/** The curve of a sweep: answers a second to the right, latency upwards; the knee, the objective, and an earlier sweep beside it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useElementSize } from "@mantine/hooks";
import { useId } from "react";
import type { LoadSweep } from "@/api/types";
import { PointReader } from "@/components/charts/point-reader";
import { axisText } from "@/components/charts/units";
import { type Frame, type Latency, latencyOf, pathOf, scalesOf } from "./curve";
import classes from "./load.module.css";
import { levelText, pointText, readText } from "./words";
import { MISSING } from "@/components/format";

const LEAST_WIDTH = 260;
const HEIGHT = 300;

export interface CurveChartProps {
  sweep: LoadSweep;
  /** An earlier one. */
  beside: LoadSweep | undefined;
  latency: Latency;
}

/** Those without an answer have no latency, and no place. */
export function CurveChart(props: CurveChartProps) {
  const { sweep, latency } = props;
  const { ref, width } = useElementSize();
  return (
    <PointReader
      title={t`${latency} latency against answers a second`}
      points={sweep.points.filter((point) => point.good > 0).map((point) => ({ key: String(point.level), words: readText(point, sweep) }))}
    >
      {(read) => (
        <div ref={ref} className={classes["curve"]} style={{ minHeight: HEIGHT }}>
          {width > 0 ? <Curve {...props} read={read} width={Math.max(LEAST_WIDTH, Math.round(width))} /> : null}
        </div>
      )}
    </PointReader>
  );
}

interface CurveProps extends CurveChartProps {
  read: string | null;
  /** In CSS pixels: drawn smaller on a phone, its texts could not be read. */
  width: number;
}

function Curve({ sweep, beside, latency, read, width }: CurveProps) {
  const title = useId();
  const frame: Frame = { left: 64, top: 14, width: width - 64 - 16, height: HEIGHT - 14 - 46 };
  const slo = sweep.slo_percentile !== null && latency === `p${sweep.slo_percentile}` ? (sweep.slo_ms ?? 0) * 1000 : null;
  const scales = scalesOf([sweep.points, beside?.points ?? []], latency, slo, frame);
  const bottom = frame.top + frame.height;
  const right = frame.left + frame.width;
  const yTexts = axisText("duration", scales.yTicks);
  const xTexts = axisText("decimal", scales.xTicks);
  const sloY = slo === null ? null : scales.y(slo);
  return (
    <svg className={classes["picture"]} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-labelledby={title}>
      <title
        id={title}
      >{t`${latency} latency against answers a second, ${plural(sweep.points.length, { one: "# point", other: "# points" })}; the table has the figures`}</title>
      {scales.yTicks.map((tick, index) => (
        <g key={tick}>
          <line className={classes["grid"]} x1={frame.left} x2={right} y1={scales.y(tick)} y2={scales.y(tick)} />
          <text className={classes["tick"]} x={frame.left - 8} y={scales.y(tick) + 4} textAnchor="end">
            {yTexts[index]}
          </text>
        </g>
      ))}
      {scales.xTicks.map((tick, index) => (
        <text key={tick} className={classes["tick"]} x={scales.x(tick)} y={bottom + 18} textAnchor="middle">
          {xTexts[index]}
        </text>
      ))}
      <text className={classes["tick"]} x={right} y={bottom + 38} textAnchor="end">
        <Trans>answers a second</Trans>
      </text>
      {sloY !== null && sloY >= frame.top ? (
        <g>
          <line className={classes["slo"]} x1={frame.left} x2={right} y1={sloY} y2={sloY} />
          <text className={classes["sloText"]} x={frame.left + 6} y={sloY - 5}>
            {t`objective: ${latency} ≤ ${sweep.slo_ms ?? MISSING} ms`}
          </text>
        </g>
      ) : null}
      {beside ? <path className={classes["earlier"]} d={pathOf(beside.points, latency, scales)} /> : null}
      <path className={classes["line"]} d={pathOf(sweep.points, latency, scales)} />
      {sweep.points
        .filter((point) => point.good > 0)
        .map((point) => {
          const x = scales.x(point.throughput);
          const y = scales.y(latencyOf(point, latency));
          const knee = point.level === sweep.knee;
          return (
            <g
              key={point.level}
              data-knee={knee || undefined}
              data-read={read === String(point.level) || undefined}
              className={classes["point"]}
            >
              <circle cx={x} cy={y} r={knee ? 7 : 4}>
                <title>{pointText(point, sweep.mode)}</title>
              </circle>
              <text x={x} y={y - 11} textAnchor="middle">
                {knee ? t`${levelText(point.level, sweep.mode)}, knee` : levelText(point.level, sweep.mode)}
              </text>
            </g>
          );
        })}
    </svg>
  );
}
