/** What the charts of a page share: the cursor, the part of time that was zoomed into, and what happened meanwhile. */

/** Something that happened, drawn as a line over every chart. */
export interface Mark {
  /** Unix seconds. */
  at: number;
  label: string;
  tone: "info" | "warn" | "error";
}

export class ChartGroup {
  readonly key: string;
  private range: readonly [number, number] | null = null;
  private shown: readonly Mark[] = [];
  private readonly listeners = new Set<() => void>();
  private selected: ((range: readonly [number, number] | null) => void) | null = null;
  private selectedZoomed = false;
  private focused: string | null = null;
  private explain: ((key: string, time: number) => string) | null = null;

  constructor(key: string) {
    this.key = key;
  }

  /** Unix seconds from, to; null follows the newest point. */
  get zoom(): readonly [number, number] | null {
    return this.range;
  }

  get marks(): readonly Mark[] {
    return this.shown;
  }

  setMarks(marks: readonly Mark[]): void {
    this.shown = marks;
    this.tell();
  }

  setZoom(range: readonly [number, number] | null): void {
    this.range = range;
    this.tell();
  }

  /** Takes selections instead of the zoom in place; null asks for the way back, where there is one (`zoomed`). Answers what gives them back. */
  onSelect(selected: (range: readonly [number, number] | null) => void, zoomed: boolean): () => void {
    this.selected = selected;
    this.selectedZoomed = zoomed;
    return () => {
      if (this.selected === selected) this.selected = null;
    };
  }

  /** Whether there is a way back from what is shown. */
  get zoomed(): boolean {
    return this.selected ? this.selectedZoomed : this.range !== null;
  }

  /** Once: whether a new chart of this title takes the focus, which nobody else may have by now. */
  takesFocus(title: string): boolean {
    if (this.focused !== title) return false;
    this.focused = null;
    return document.activeElement === document.body;
  }

  /**
   * What a drag or a double click in a chart does, and a key. `title`: the chart that had the focus has it again where it is built
   * anew, since points may be asked for first. A zoom in place builds none, and leaves the focus where it is.
   */
  select(range: readonly [number, number] | null, title: string | null = null): void {
    if (!this.selected) {
      this.setZoom(range);
      return;
    }
    this.focused = title;
    this.selected(range);
  }

  /** The mark nearest to a time, if it is within `tolerance` seconds. */
  markNear(at: number, tolerance: number): Mark | null {
    let nearest: Mark | null = null;
    for (const mark of this.shown) {
      const distance = Math.abs(mark.at - at);
      if (distance <= tolerance && (!nearest || distance < Math.abs(nearest.at - at))) nearest = mark;
    }
    return nearest;
  }

  /** Who knows why a series has no value at a point. Answers what takes that back. */
  onGap(explain: (key: string, time: number) => string): () => void {
    this.explain = explain;
    return () => {
      if (this.explain === explain) this.explain = null;
    };
  }

  /** Empty where nobody knows. */
  gapReason(key: string, time: number): string {
    return this.explain?.(key, time) ?? "";
  }

  onZoom(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
