/** Looks at a series now and then: what changes with each tick cannot be read. */
import type { Series } from "./series";

/**
 * Looks when something is drawn, at most every `ms` milliseconds. What is drawn in between is looked at when they are over: a stretch
 * of the past is drawn once, and never again. `again` asks for another look though nothing may be drawn.
 */
export function paced(series: Series, ms: number, look: (again: () => void) => void): () => void {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let later = 0;
  const run = () => {
    window.clearTimeout(later);
    const wait = lookedAt + ms - performance.now();
    if (wait > 0) {
      later = window.setTimeout(run, wait);
      return;
    }
    lookedAt = performance.now();
    look(() => {
      later = window.setTimeout(run, ms);
    });
  };
  const stop = series.onDraw(run);
  return () => {
    window.clearTimeout(later);
    stop();
  };
}
