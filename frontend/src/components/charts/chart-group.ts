/** What the charts of a page share: the cursor, and the part of time that was zoomed into. */

export class ChartGroup {
  readonly key: string;
  private range: readonly [number, number] | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(key: string) {
    this.key = key;
  }

  /** Unix seconds from, to; null follows the newest point. */
  get zoom(): readonly [number, number] | null {
    return this.range;
  }

  setZoom(range: readonly [number, number] | null): void {
    this.range = range;
    for (const listener of [...this.listeners]) listener();
  }

  onZoom(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
