/** Builds and feeds one uPlot chart: no React in here, so that a tick costs a draw and nothing else. */
import uPlot from "uplot";
import { highKey, lowKey } from "@/live/metric-keys";
import type { Series } from "@/live/series";
import type { ChartGroup } from "./chart-group";
import { drawLevels } from "./draw-levels";
import { drawMarks } from "./draw-marks";
import type { Level } from "./level";
import { type LineStyle, token } from "./palette";
import { calendarTime } from "../zone";
import { axisText, MINIMUM_TOP, TICK_STEPS, type Unit } from "./units";

export interface Line extends LineStyle {
  /** Key of the live series. */
  key: string;
  label: string;
  fill?: boolean;
}

export interface PlotOptions {
  lines: readonly Line[];
  unit: Unit;
  stacked: boolean;
  /** Points are buckets: show the lowest and highest value of each behind the line. */
  envelope: boolean;
  height: number;
  /** Seconds shown when not zoomed. */
  range: () => number;
  group: ChartGroup;
  levels: readonly Level[];
  /** Cursor moved: index into the plotted points, or null when it left. */
  onCursor: (index: number | null) => void;
}

const FONT = '11px "Inter Variable", system-ui, sans-serif';

/**
 * Width of lines in CSS pixels. Half a pixel cannot be seen on a coarse screen, where it only blurs; and without a graphics
 * processor a line above one device pixel costs ten times one of a pixel (docs/ui.md).
 */
const lineWidth = (): number => (devicePixelRatio > 1 ? 1.5 : 1);

const DAY_S = 86_400;

function timeLabels(splits: number[], step: number): string[] {
  return splits.map((at) => {
    const { month, day, hour, minute, second } = calendarTime(new Date(at * 1000));
    const two = (value: number) => String(value).padStart(2, "0");
    if (step >= DAY_S || (step >= DAY_S / 24 && hour === 0 && minute === 0)) return `${two(month)}-${two(day)}`;
    return step < 60 ? `${two(hour)}:${two(minute)}:${two(second)}` : `${two(hour)}:${two(minute)}`;
  });
}

function withAlpha(color: string, alpha: number): string {
  return `color-mix(in srgb, ${color} ${Math.round(alpha * 100)}%, transparent)`;
}

export class Plot {
  /** The values as they are, per line, for legends and tables (the drawn ones are summed when stacked). */
  readonly raw: (number | null)[][];
  readonly times: number[] = [];
  private readonly drawn: (number | null)[][];
  /** Lowest and highest of each line, in pairs; empty without an envelope. */
  private readonly bounds: (number | null)[][];
  private readonly chart: uPlot;
  private readonly options: PlotOptions;
  private readonly source: Series;

  constructor(host: HTMLElement, source: Series, options: PlotOptions) {
    this.source = source;
    this.options = options;
    this.raw = options.lines.map(() => []);
    this.drawn = options.stacked ? options.lines.map(() => []) : this.raw;
    this.bounds = options.envelope && !options.stacked ? options.lines.flatMap(() => [[], []]) : [];
    this.chart = new uPlot(this.config(host.clientWidth), this.data(), host);
  }

  /** Takes over the newest points and draws. */
  update(): void {
    const { lines, stacked, group, range } = this.options;
    const { ring } = this.source;
    const since = group.zoom?.[0] ?? ring.lastTime - range();
    // why one point more: the line must reach the left edge.
    const from = Math.max(0, ring.firstIndex(since) - 1);
    ring.readTimes(from, this.times);
    lines.forEach((line, index) => {
      ring.read(line.key, from, this.raw[index]);
      if (this.bounds.length === 0) return;
      ring.read(lowKey(line.key), from, this.bounds[index * 2]);
      ring.read(highKey(line.key), from, this.bounds[index * 2 + 1]);
    });
    if (stacked) this.stack();
    // why at once: a cursor that is put at a moment now would be put there by the scale of before.
    this.chart.batch(() => this.chart.setData(this.data(), true));
  }

  resize(width: number): void {
    if (width > 0 && width !== this.chart.width) this.chart.setSize({ width, height: this.options.height });
  }

  destroy(): void {
    this.chart.destroy();
  }

  /** The points between the left edge and the right: the first, and the one after the last. */
  get view(): [from: number, to: number] {
    const { min, max } = this.chart.scales["x"] ?? {};
    const from = this.times.findIndex((time) => time >= (min ?? Number.NEGATIVE_INFINITY));
    const after = this.times.findIndex((time) => time > (max ?? Number.POSITIVE_INFINITY));
    const to = after === -1 ? this.times.length : after;
    return [from === -1 ? to : from, to];
  }

  /** The lowest and the highest of a line, as they are drawn: of each bucket where there is an envelope, else the values themselves. */
  boundsOf(line: number): { low: (number | null)[]; high: (number | null)[] } {
    const values = this.raw[line] ?? [];
    return { low: this.bounds[line * 2] ?? values, high: this.bounds[line * 2 + 1] ?? values };
  }

  /** Puts the cursor at a moment, and the selection between it and where that began. */
  mark(at: number, anchor: number | null): void {
    const { clientWidth: width, clientHeight: height } = this.chart.over;
    const place = (time: number) => Math.max(0, Math.min(width, this.chart.valToPos(time, "x")));
    const left = place(at);
    this.moveCursor({ left, top: height / 2 });
    const start = anchor === null ? left : place(anchor);
    this.chart.setSelect(
      { left: Math.min(left, start), top: 0, width: Math.abs(left - start), height: anchor === null ? 0 : height },
      false,
    );
  }

  unmark(): void {
    this.moveCursor({ left: -10, top: -10 });
    this.chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** For all charts of the group, as the pointer does. */
  private moveCursor(at: { left: number; top: number }): void {
    // why typed here: uPlot's own types leave out that the others can be told.
    const setCursor: (at: { left: number; top: number }, fire: boolean, publish: boolean) => void = this.chart.setCursor;
    setCursor(at, true, true);
  }

  private data(): uPlot.AlignedData {
    // why reversed when stacked: a line without anything of its own hides behind the one below it.
    const drawn = this.options.stacked ? [...this.drawn].reverse() : this.drawn;
    return [this.times, ...drawn, ...this.bounds] as uPlot.AlignedData;
  }

  private stack(): void {
    const sums = Array.from(this.times, () => 0);
    this.raw.forEach((values, index) => {
      const out = this.drawn[index];
      if (!out) return;
      out.length = values.length;
      for (let i = 0; i < values.length; i += 1) {
        const value = values[i];
        if (value === null || value === undefined) out[i] = null;
        else {
          sums[i] = (sums[i] ?? 0) + value;
          out[i] = sums[i] ?? null;
        }
      }
    });
  }

  private config(width: number): uPlot.Options {
    const { unit, stacked, height, group, range, levels, onCursor } = this.options;
    const lines = stacked ? [...this.options.lines].reverse() : this.options.lines;
    const ink = token("ink-3");
    const grid = { stroke: token("grid"), width: 1 };
    const colors = lines.map((line) => token(line.color));
    return {
      width: Math.max(width, 50),
      height,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: group.key },
        drag: { x: true, y: false, setScale: false },
        // why no points for bounds: only the lines have values of their own.
        points: { size: (_, index) => (index > lines.length ? 0 : 6), width: 0, fill: (_, index) => colors[index - 1] ?? ink },
        y: false,
      },
      scales: {
        x: {
          time: true,
          range: () => {
            const end = Number.isNaN(this.source.ring.lastTime) ? Date.now() / 1000 : this.source.ring.lastTime;
            return group.zoom ? [group.zoom[0], group.zoom[1]] : [end - range(), end];
          },
        },
        y: { range: (_, __, top) => [0, Math.max((top ?? 0) * 1.12, MINIMUM_TOP[unit])] },
      },
      axes: [
        {
          stroke: ink,
          font: FONT,
          grid,
          ticks: { show: false },
          gap: 6,
          size: 24,
          space: 46,
          values: (_, splits, __, ___, step) => timeLabels(splits, step),
        },
        {
          stroke: ink,
          font: FONT,
          grid,
          ticks: { show: false },
          gap: 8,
          size: 62,
          space: 27,
          incrs: TICK_STEPS[unit],
          values: (_, splits) => axisText(unit, splits),
        },
      ],
      series: [
        {},
        ...lines.map((line, index) => {
          const color = colors[index] ?? ink;
          const filled = line.fill === true || (stacked && index === lines.length - 1);
          return {
            stroke: color,
            width: lineWidth(),
            points: { show: false },
            spanGaps: false,
            ...(line.dash ? { dash: line.dash } : {}),
            ...(filled ? { fill: withAlpha(color, stacked ? 0.38 : 0.12) } : {}),
          } satisfies uPlot.Series;
        }),
        ...this.bounds.map(() => ({ stroke: "transparent", width: 0, points: { show: false }, spanGaps: false })),
      ],
      ...(this.bounds.length > 0
        ? {
            bands: lines.map((_, index) => ({
              series: [lines.length + index * 2 + 2, lines.length + index * 2 + 1] as [number, number],
              fill: withAlpha(colors[index] ?? ink, 0.16),
            })),
          }
        : {}),
      ...(stacked
        ? {
            bands: lines.slice(1).map((_, index) => ({
              series: [index + 1, index + 2] as [number, number],
              fill: withAlpha(colors[index] ?? ink, 0.38),
            })),
          }
        : {}),
      hooks: {
        draw: [(chart) => drawLevels(chart, levels), (chart) => drawMarks(chart, group.marks)],
        setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)],
        setSelect: [
          (chart) => {
            const { left, width: selected } = chart.select;
            if (selected < 6) return;
            group.select([chart.posToVal(left, "x"), chart.posToVal(left + selected, "x")]);
            chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        init: [(chart) => chart.over.addEventListener("dblclick", () => group.select(null))],
      },
    };
  }
}
