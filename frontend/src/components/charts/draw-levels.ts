/** Lines across a chart from which on a value is called high, where they are within the picture. */
import type uPlot from "uplot";
import type { Level } from "./level";
import { token } from "./palette";

export function drawLevels(chart: uPlot, levels: readonly Level[]): void {
  const top = chart.scales["y"]?.max;
  if (levels.length === 0 || top === undefined || top === null) return;
  const { ctx } = chart;
  const { left, width } = chart.bbox;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.lineWidth = ratio;
  ctx.setLineDash([2 * ratio, 4 * ratio]);
  for (const level of levels) {
    if (level.at > top) continue;
    const y = Math.round(chart.valToPos(level.at, "y", true)) + 0.5;
    ctx.strokeStyle = token(level.tone);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
  }
  ctx.restore();
}
