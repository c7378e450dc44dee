/** Whether the search palette is open; its code is loaded on first use. */

const listeners = new Set<() => void>();
let wanted = false;

export function openPalette(): void {
  wanted = true;
  for (const listener of listeners) listener();
}

export function closePalette(): void {
  wanted = false;
  for (const listener of listeners) listener();
}

export const paletteOpen = (): boolean => wanted;

export function onPalette(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
