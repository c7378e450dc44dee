/** Reads a chart by keyboard: what the keys do is in chart-keys.ts, here it is shown and said. No React, as in the plot. */
import { t } from "@lingui/core/macro";
import type { ChartGroup } from "./chart-group";
import { indexAt, NOT_READING, press, type Reading } from "./chart-keys";
import type { Plot } from "./plot";

export interface ReaderOptions {
  plot: Plot;
  group: ChartGroup;
  /** Of the chart, to come back to it where a zoom builds it anew. */
  title: string;
  /** The moment and its values, in words. */
  words: (index: number) => string;
  moment: (time: number) => string;
  say: (words: string) => void;
}

export class ChartReader {
  private reading: Reading = NOT_READING;
  private readonly options: ReaderOptions;

  constructor(options: ReaderOptions) {
    this.options = options;
  }

  /** Whether the key was one of the chart's. */
  press(key: string, shift: boolean): boolean {
    const { plot, group, title, words, moment, say } = this.options;
    const shown = plot.times.slice(...plot.view);
    const pressed = press(this.reading, key, shift, shown);
    if (!pressed) return false;
    const { reading, does } = pressed;
    // why: without a zoom Escape is the page's, which may close what the chart stands in.
    if (does.kind === "back" && !group.zoomed && this.reading.at === null) return false;
    this.reading = reading;
    this.redraw();
    if (does.kind === "nothing") say(t`No points in this range`);
    else if (does.kind === "moved" && reading.at !== null) say(words(indexAt(plot.times, reading.at)));
    else if (does.kind === "began" && reading.at !== null) {
      say(t`Selection from ${moment(reading.at)}. Arrow keys move its end, Enter zooms, Escape gives it up.`);
    } else if (does.kind === "dropped") say(t`No selection`);
    else if (does.kind === "selected") {
      say(t`Zoomed: ${moment(does.from)} to ${moment(does.to)}`);
      group.select([does.from, does.to], title);
    } else if (does.kind === "back" && group.zoomed) {
      say(t`Not zoomed any more`);
      group.select(null, title);
    }
    return true;
  }

  /** After the points have moved: the cursor stays at its moment. */
  redraw(): void {
    const { plot } = this.options;
    const { at, anchor } = this.reading;
    if (at === null) plot.unmark();
    else plot.mark(at, anchor);
  }

  get reads(): boolean {
    return this.reading.at !== null;
  }

  leave(): void {
    if (!this.reads) return;
    this.reading = NOT_READING;
    this.redraw();
    this.options.say("");
  }
}
