/** Live series of one topic, outside React: frames go into a ring, drawings are asked for once per frame. */
import type { Frame } from "./frames";
import { cancelDraw, requestDraw } from "./flush";
import { Ring } from "./ring";

/** A silence longer than this is drawn as a gap, not bridged by a line. */
export const GAP_S = 2.5;
const EDGE_S = 0.5;
/** So many are remembered. */
const SILENCES = 64;

export class Series {
  readonly ring = new Ring();
  private readonly drawings = new Set<() => void>();
  private readonly structureListeners = new Set<() => void>();
  private structure = 0;
  private tickedAt = 0;
  /** Stretches without a frame, oldest first. */
  private silences: (readonly [from: number, to: number])[] = [];

  /** Changes when the set of keys changes: the only thing that React re-renders for. */
  get version(): number {
    return this.structure;
  }

  /** `performance.now()` of the newest point, 0 before the first. */
  get updatedAt(): number {
    return this.tickedAt;
  }

  accept(frame: Frame): void {
    if (frame.type === "snapshot") {
      const same = this.structure > 0 && sameKeys(this.ring.keys, frame.keys);
      this.ring.load(frame.keys, frame.t, frame.v);
      this.silences = [];
      this.tickedAt = performance.now();
      if (!same) {
        this.structure += 1;
        for (const listener of [...this.structureListeners]) listener();
      }
    } else if (frame.type === "tick" && frame.v.length === this.ring.keys.length && this.structure > 0) {
      const last = this.ring.lastTime;
      if (frame.t - last > GAP_S) {
        // why two: the point nearest to any moment of the silence is one of the silence.
        this.ring.push(last + EDGE_S, []);
        this.ring.push(frame.t - EDGE_S, []);
        this.silences = [...this.silences.slice(1 - SILENCES), [last, frame.t]];
      }
      this.ring.push(frame.t, frame.v);
      this.tickedAt = performance.now();
    } else return;
    this.redraw();
  }

  /** Takes over what is newer of columns that were asked for; columns of other keys replace everything. */
  merge(columns: { keys: string[]; t: number[]; v: (number | null)[][] }): void {
    if (this.structure === 0 || !sameKeys(this.ring.keys, columns.keys)) {
      this.accept({ type: "snapshot", topic: "", ...columns });
      return;
    }
    columns.t.forEach((t, index) => {
      if (t <= this.ring.lastTime) return;
      this.accept({ type: "tick", topic: "", t, v: columns.v.map((values) => values[index] ?? null) });
    });
  }

  /** Whether no frame came around that moment, though the others after it did. */
  isSilent(time: number): boolean {
    return this.silences.some(([from, to]) => time > from && time < to);
  }

  redraw(): void {
    for (const draw of this.drawings) requestDraw(draw);
  }

  onDraw(draw: () => void): () => void {
    this.drawings.add(draw);
    requestDraw(draw);
    return () => {
      this.drawings.delete(draw);
      cancelDraw(draw);
    };
  }

  onStructure(listener: () => void): () => void {
    this.structureListeners.add(listener);
    return () => this.structureListeners.delete(listener);
  }
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}
