/** Which changes of traffic are being watched: outside React, so that they outlive the tab that made them. */
import { useSyncExternalStore } from "react";
import type { Split } from "../traffic";

export interface TrafficWatch {
  before: Split;
  after: Split;
  /** `Date.now()` of the change. */
  changedAt: number;
}

const watches = new Map<string, TrafficWatch>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of [...listeners]) listener();
}

export function beginWatch(endpoint: string, watch: TrafficWatch): void {
  watches.set(endpoint, watch);
  tell();
}

export function endWatch(endpoint: string): void {
  if (watches.delete(endpoint)) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useWatch = (endpoint: string): TrafficWatch | undefined => useSyncExternalStore(subscribe, () => watches.get(endpoint));
