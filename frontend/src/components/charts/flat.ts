/** Whether there is anything to see of some series. Pure. */
import type { Ring } from "@/live/ring";

const column: (number | null)[] = [];

/** Something was measured since then, and all of it was zero. What was never measured is not zero. */
export function isFlat(ring: Ring, keys: readonly string[], since: number): boolean {
  const from = ring.firstIndex(since);
  let measured = false;
  for (const key of keys) {
    for (const value of ring.read(key, from, column)) {
      if (value === null) continue;
      if (value !== 0) return false;
      measured = true;
    }
  }
  return measured;
}
