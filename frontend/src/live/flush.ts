/** One animation frame for everything that draws live data, however many charts and numbers there are. */

type Draw = () => void;

const waiting = new Set<Draw>();
let scheduled = false;

function run(): void {
  scheduled = false;
  const batch = [...waiting];
  waiting.clear();
  for (const draw of batch) draw();
}

/** Draws in the next frame; asked twice before it, drawn once. Nothing runs while the tab is hidden. */
export function requestDraw(draw: Draw): void {
  waiting.add(draw);
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(run);
}

export function cancelDraw(draw: Draw): void {
  waiting.delete(draw);
}
