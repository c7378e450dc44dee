/** What a topic shows, from a whole and from what changed since: docs/websocket.md has the form of a change. */
import type { Change, ChangeFrame, StateFrame } from "./frames";

type Members = Record<string, unknown>;

/** `value` with the change; what did not change is the same object as before. */
export function changed(value: unknown, change: Change): unknown {
  if (Array.isArray(change)) return change[0];
  const names = Object.keys(change);
  if (names.length === 0) return value;
  const copy: Members | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Members) };
  for (const name of names) (copy as Members)[name] = changed((value as Members)[name], change[name] as Change);
  return copy;
}

/** Follows the numbers of the frames. */
export class Shown {
  private value: unknown = undefined;
  private seq = Number.NaN;

  /** What is shown now; undefined where a frame is missing, so that the whole has to be asked for. */
  accept(frame: StateFrame | ChangeFrame): unknown {
    if (frame.type === "state") {
      this.value = frame.data;
      this.seq = frame.seq ?? Number.NaN;
    } else if (frame.seq === this.seq + 1) {
      this.value = changed(this.value, frame.data);
      this.seq = frame.seq;
    } else {
      this.value = undefined;
      this.seq = Number.NaN;
    }
    return this.value;
  }
}
