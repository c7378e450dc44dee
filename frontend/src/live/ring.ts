/** Fixed-size columnar memory of live series: the newest points stay, the oldest go. NaN stands for "no value". */

const CAPACITY = 2048;

export class Ring {
  readonly capacity: number;
  private times: Float64Array;
  private columns = new Map<string, Float64Array>();
  private order: string[] = [];
  private start = 0;
  private size = 0;

  constructor(capacity: number = CAPACITY) {
    this.capacity = capacity;
    this.times = new Float64Array(capacity);
  }

  get length(): number {
    return this.size;
  }

  get keys(): readonly string[] {
    return this.order;
  }

  /** Unix seconds of the newest point, or NaN. */
  get lastTime(): number {
    return this.size === 0 ? Number.NaN : (this.times[this.slot(this.size - 1)] ?? Number.NaN);
  }

  /** Replaces everything by a snapshot: `v[k]` is the series of `keys[k]`. */
  load(keys: readonly string[], t: readonly number[], v: readonly (readonly (number | null)[])[]): void {
    this.order = [...keys];
    this.columns = new Map(keys.map((key) => [key, new Float64Array(this.capacity).fill(Number.NaN)]));
    this.start = 0;
    const skip = Math.max(0, t.length - this.capacity);
    this.size = t.length - skip;
    for (let i = 0; i < this.size; i += 1) this.times[i] = t[i + skip] ?? Number.NaN;
    keys.forEach((key, k) => {
      const column = this.columns.get(key);
      const series = v[k];
      if (!column || !series) return;
      for (let i = 0; i < this.size; i += 1) column[i] = series[i + skip] ?? Number.NaN;
    });
  }

  /** Appends one point; `values` is in the order of `keys`. A point that is not newer than the last is ignored. */
  push(t: number, values: readonly (number | null)[]): boolean {
    if (this.size > 0 && t <= this.lastTime) return false;
    if (this.size === this.capacity) this.start = (this.start + 1) % this.capacity;
    else this.size += 1;
    const slot = this.slot(this.size - 1);
    this.times[slot] = t;
    this.order.forEach((key, k) => {
      const column = this.columns.get(key);
      if (column) column[slot] = values[k] ?? Number.NaN;
    });
    return true;
  }

  /** Index of the first point that is not older than `since`. */
  firstIndex(since: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.times[this.slot(middle)] ?? 0) < since) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Times from index `from` on, written into `out` (reused by the caller, so that a tick allocates nothing). */
  readTimes(from: number, out: number[] = []): number[] {
    out.length = this.size - from;
    for (let i = from; i < this.size; i += 1) out[i - from] = this.times[this.slot(i)] ?? Number.NaN;
    return out;
  }

  /** One series from index `from` on; gaps are null. A key that is not known gives a series of gaps. */
  read(key: string, from: number, out: (number | null)[] = []): (number | null)[] {
    const column = this.columns.get(key);
    out.length = this.size - from;
    for (let i = from; i < this.size; i += 1) {
      const value = column ? (column[this.slot(i)] ?? Number.NaN) : Number.NaN;
      out[i - from] = Number.isNaN(value) ? null : value;
    }
    return out;
  }

  /** The newest value of a series, or null when the newest point is a gap. */
  last(key: string): number | null {
    if (this.size === 0) return null;
    const value = this.columns.get(key)?.[this.slot(this.size - 1)] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  /** The value of a point; null where it is a gap, undefined where there is no such series or no such point. */
  valueAt(key: string, time: number): number | null | undefined {
    const slot = this.slot(this.firstIndex(time));
    const column = this.columns.get(key);
    if (!column || this.times[slot] !== time) return undefined;
    const value = column[slot] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  private slot(index: number): number {
    return (this.start + index) % this.capacity;
  }
}
