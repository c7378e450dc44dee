/** Lines over a chart where something happened: a deploy, a change of traffic, a restart. */
import type uPlot from "uplot";
import type { Mark } from "./chart-group";
import { token } from "./palette";

const HEAD = 4;

const INK: Record<Mark["tone"], string> = { info: "info", warn: "warn", error: "error" };

export function drawMarks(chart: uPlot, marks: readonly Mark[]): void {
  const { min, max } = chart.scales["x"] ?? {};
  if (min === undefined || max === undefined || min === null || max === null) return;
  const { ctx } = chart;
  const { top, height } = chart.bbox;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  for (const mark of marks) {
    if (mark.at < min || mark.at > max) continue;
    const x = Math.round(chart.valToPos(mark.at, "x", true)) + 0.5;
    const color = token(INK[mark.tone]);
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - HEAD * ratio, top);
    ctx.lineTo(x + HEAD * ratio, top);
    ctx.lineTo(x, top + HEAD * 1.5 * ratio);
    ctx.fill();
  }
  ctx.restore();
}
