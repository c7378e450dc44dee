/** Something that is open or not, from anywhere: its code is loaded on first use. */

export interface Toggle {
  open: () => void;
  close: () => void;
  isOpen: () => boolean;
  subscribe: (listener: () => void) => () => void;
}

export function makeToggle(): Toggle {
  const listeners = new Set<() => void>();
  let wanted = false;
  const set = (value: boolean) => {
    if (wanted === value) return;
    wanted = value;
    for (const listener of listeners) listener();
  };
  return {
    open: () => set(true),
    close: () => set(false),
    isOpen: () => wanted,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
