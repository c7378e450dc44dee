/** The last call of each endpoint, for as long as the tab lives: the console keeps it, other pages write programs of it. */
import { useSyncExternalStore } from "react";
import type { CodeTarget } from "./code/target";
import type { BuiltInput } from "./tensor/built-input";

export interface LastCall {
  call: Pick<CodeTarget, "deployment" | "model" | "version" | "decoupled" | "parameters" | "outputs">;
  inputs: readonly BuiltInput[];
  at: string;
}

const calls = new Map<string, LastCall>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function keepLastCall(endpoint: string, call: LastCall): void {
  calls.set(endpoint, call);
  for (const listener of listeners) listener();
}

export const useLastCall = (endpoint: string): LastCall | null => useSyncExternalStore(subscribe, () => calls.get(endpoint) ?? null);
