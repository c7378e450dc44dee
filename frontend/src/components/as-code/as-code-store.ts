/** Which action is shown as code. One drawer for the whole studio: a menu item may vanish while it is open. */
import type { Recipe } from "./recipe";

const listeners = new Set<() => void>();
let shown: Recipe | null = null;

function set(recipe: Recipe | null): void {
  shown = recipe;
  for (const listener of listeners) listener();
}

/** Opens the drawer, from a button, a menu item or the command palette. */
export const showAsCode = (recipe: Recipe): void => set(recipe);
export const hideAsCode = (): void => set(null);
export const shownAsCode = (): Recipe | null => shown;

export function onAsCode(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
