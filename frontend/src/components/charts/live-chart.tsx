/** A panel with one live chart: title, formula, legend with values, and the same data as a table. */
import { t } from "@lingui/core/macro";
import "uplot/dist/uPlot.min.css";
import { ActionIcon, Tooltip, useComputedColorScheme } from "@mantine/core";
import { IconChartLine, IconInfoCircle, IconTable } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { requestDraw } from "@/live/flush";
import type { Series } from "@/live/series";
import { absoluteTime, clock } from "../format";
import type { ChartGroup } from "./chart-group";
import { ChartReader } from "./chart-reader";
import classes from "./charts.module.css";
import { type Level, levelOf, worse } from "./level";
import { gapText } from "./gap-text";
import { Plot, type Line } from "./plot";
import { ReadingStop } from "./reading-stop";
import { SummaryTable, type SummaryRow, summarise } from "./summary-table";
import { type Unit, valueText } from "./units";

export interface LiveChartProps {
  title: string;
  hint?: string;
  /** How the values are computed, shown behind the ⓘ. */
  formula: string;
  series: Series;
  lines: Line[];
  unit: Unit;
  stacked?: boolean;
  /** From when on a line is called high, when it stays there. */
  levels?: readonly Level[];
  /** Points are buckets: show the lowest and highest value of each behind the line. */
  envelope?: boolean;
  /** Seconds shown. */
  range: number;
  group: ChartGroup;
  /** The live link is interrupted: the picture is old. */
  dimmed?: boolean;
  height?: number;
}

const NO_LEVELS: readonly Level[] = [];
const TABLE_EVERY_MS = 1000;
/** Out of view a panel follows at this pace: what reads without seeing (a screen reader, find in page) stays true. */
const UNSEEN_EVERY_MS = 2000;
/** Drawn at full pace already this far from view, so that nobody scrolls to an old picture. */
const NEAR = "120px";
/** So near to a mark, as a share of what is shown, the cursor reads it. */
const MARK_SHARE = 0.012;
const DAY_S = 86_400;

function stampText(time: number, range: number): string {
  const at = new Date(time * 1000);
  return range > DAY_S / 2 ? absoluteTime(at.toISOString()) : clock(at);
}

export function LiveChart(props: LiveChartProps) {
  const {
    title,
    hint,
    formula,
    series,
    lines,
    unit,
    stacked = false,
    envelope = false,
    levels = NO_LEVELS,
    range,
    group,
    dimmed = false,
    height = 144,
  } = props;
  const host = useRef<HTMLDivElement>(null);
  const stop = useRef<HTMLDivElement>(null);
  const said = useRef<HTMLSpanElement>(null);
  const reader = useRef<ChartReader>(null);
  const gap = useRef<HTMLSpanElement>(null);
  const values = useRef<(HTMLElement | null)[]>([]);
  const stamp = useRef<HTMLSpanElement>(null);
  const chip = useRef<HTMLSpanElement>(null);
  const rangeRef = useRef(range);
  const [asTable, setAsTable] = useState(false);
  const [rows, setRows] = useState<SummaryRow[]>([]);
  const scheme = useComputedColorScheme("light");
  const shape = JSON.stringify(lines);

  useEffect(() => {
    rangeRef.current = range;
    series.redraw();
  }, [range, series]);

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const current = JSON.parse(shape) as Line[];
    let cursor: number | null = null;
    let tableAt = Number.NEGATIVE_INFINITY;
    let later = 0;
    let seen = true;
    let drawnAt = Number.NEGATIVE_INFINITY;

    const gapAt = (index: number): string =>
      gapText(
        current.map((line, at) => {
          const value = plot.raw[at]?.[index] ?? null;
          return { label: line.label, reason: value === null ? group.gapReason(line.key, plot.times[index] ?? 0) : null };
        }),
      );
    const label = () => {
      const at = cursor ?? plot.times.length - 1;
      current.forEach((_, index) => {
        const target = values.current[index];
        const text = valueText(unit, plot.raw[index]?.[at] ?? null);
        if (target && target.textContent !== text) target.textContent = text;
      });
      const why = cursor === null ? "" : gapAt(cursor);
      if (gap.current && gap.current.textContent !== why) gap.current.textContent = why;
      const time = cursor === null ? undefined : plot.times[cursor];
      const mark = time === undefined ? null : group.markNear(time, rangeRef.current * MARK_SHARE);
      const words = mark?.label ?? (time === undefined ? "" : stampText(time, rangeRef.current));
      if (stamp.current && stamp.current.textContent !== words) {
        stamp.current.textContent = words;
        stamp.current.title = words;
      }
    };
    const judge = () => {
      if (!chip.current) return;
      const found = plot.raw.reduce<Level | null>((worst, values) => worse(worst, levelOf(plot.times, values, levels)), null);
      chip.current.hidden = found === null;
      chip.current.textContent = found?.word ?? "";
      chip.current.dataset["tone"] = found?.tone ?? "";
    };
    const plot = new Plot(element, series, {
      lines: current,
      unit,
      stacked,
      envelope,
      height,
      range: () => rangeRef.current,
      group,
      levels,
      onCursor: (index) => {
        cursor = index;
        requestDraw(label);
      },
    });
    const moment = (time: number) => stampText(time, rangeRef.current);
    const reads = new ChartReader({
      plot,
      group,
      title,
      moment,
      words: (index) => {
        const time = plot.times[index] ?? 0;
        const mark = group.markNear(time, rangeRef.current * MARK_SHARE);
        const figures = current.map((line, at) => `${line.label} ${valueText(unit, plot.raw[at]?.[index] ?? null)}`);
        return [`${moment(time)}: ${figures.join(", ")}`, gapAt(index), mark?.label].filter(Boolean).join("; ");
      },
      say: (words) => {
        if (said.current) said.current.textContent = words;
      },
    });
    reader.current = reads;
    if (group.takesFocus(title)) stop.current?.focus();
    const draw = () => {
      const now = performance.now();
      if (!seen && now - drawnAt < UNSEEN_EVERY_MS) return;
      drawnAt = now;
      plot.update();
      if (reads.reads) reads.redraw();
      label();
      judge();
      if (!asTable) return;
      window.clearTimeout(later);
      const wait = tableAt + TABLE_EVERY_MS - now;
      if (wait > 0) {
        // why: nothing may come after this, and the table would keep what was before it
        later = window.setTimeout(() => requestDraw(draw), wait);
        return;
      }
      tableAt = now;
      setRows(summarise(current, plot));
    };
    const observer = new ResizeObserver(() => plot.resize(element.clientWidth));
    observer.observe(element);
    const sight = new IntersectionObserver(
      (entries) => {
        seen = entries.at(-1)?.isIntersecting ?? true;
        if (seen) requestDraw(draw);
      },
      { rootMargin: NEAR },
    );
    // why the panel: the plot itself has no size while the table is shown.
    sight.observe(element.closest("section") ?? element);
    const stopDraw = series.onDraw(draw);
    const stopZoom = group.onZoom(() => requestDraw(draw));
    return () => {
      window.clearTimeout(later);
      stopDraw();
      stopZoom();
      observer.disconnect();
      sight.disconnect();
      reader.current = null;
      plot.destroy();
    };
    // why the scheme: colours are read from the theme when the chart is built.
  }, [series, shape, unit, stacked, envelope, height, group, levels, scheme, asTable, title]);

  return (
    <section className={classes["panel"]} data-dimmed={dimmed || undefined} aria-label={title}>
      <header className={classes["head"]}>
        <h3 className={classes["title"]}>{title}</h3>
        {levels.length > 0 ? <span ref={chip} role="status" className={classes["level"]} hidden /> : null}
        {hint ? <span className={`secondary ${classes["hint"]}`}>{hint}</span> : null}
        <span ref={stamp} className={classes["stamp"]} aria-hidden />
        <span className={classes["tools"]}>
          <Tooltip label={formula} multiline maw={320} events={{ hover: true, focus: true, touch: true }}>
            <ActionIcon size={24} aria-label={t`How ${title} is computed`}>
              <IconInfoCircle size={15} stroke={1.6} />
            </ActionIcon>
          </Tooltip>
          <ActionIcon
            size={24}
            aria-label={asTable ? t`Show ${title} as a chart` : t`Show ${title} as a table`}
            title={asTable ? t`Chart` : t`Table`}
            onClick={() => setAsTable(!asTable)}
          >
            {asTable ? <IconChartLine size={15} stroke={1.6} /> : <IconTable size={15} stroke={1.6} />}
          </ActionIcon>
        </span>
      </header>
      <ReadingStop
        ref={stop}
        title={title}
        className={classes["plot"]}
        style={{ display: asTable ? "none" : undefined }}
        onPress={(key, shift) => reader.current?.press(key, shift) ?? false}
        onLeave={() => reader.current?.leave()}
      >
        <div
          ref={host}
          role="img"
          aria-label={t`${title}: live chart of ${lines.map((line) => line.label).join(", ")}`}
          style={{ height }}
        />
        <span ref={gap} className={classes["gap"]} aria-hidden />
        <span ref={said} className="sr-only" aria-live="polite" />
      </ReadingStop>
      {asTable ? <SummaryTable label={title} rows={rows} unit={unit} height={height} /> : null}
      <ul className={classes["legend"]}>
        {lines.map((line, index) => (
          <li key={line.key}>
            <i style={{ borderTop: `2px ${line.dash ? "dashed" : "solid"} var(--${line.color})` }} aria-hidden />
            {line.label}{" "}
            <b
              ref={(element) => {
                values.current[index] = element;
              }}
            >
              –
            </b>
          </li>
        ))}
      </ul>
    </section>
  );
}
