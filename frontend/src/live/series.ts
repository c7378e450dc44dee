/** Live series of one topic, outside React: frames go into a ring, drawings are asked for once per frame. */
import type { Frame } from "./frames";
import { cancelDraw, requestDraw } from "./flush";
import { Ring } from "./ring";

/** A silence longer than this is drawn as a gap, not bridged by a line. */
export const GAP_S = 2.5;

export class Series {
  readonly ring = new Ring();
  private readonly drawings = new Set<() => void>();
  private readonly structureListeners = new Set<() => void>();
  private structure = 0;
  private tickedAt = 0;

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
      this.tickedAt = performance.now();
      if (!same) {
        this.structure += 1;
        for (const listener of [...this.structureListeners]) listener();
      }
    } else if (frame.type === "tick" && frame.v.length === this.ring.keys.length && this.structure > 0) {
      if (frame.t - this.ring.lastTime > GAP_S) this.ring.push(this.ring.lastTime + 0.5, []);
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
