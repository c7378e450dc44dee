/** Histories by endpoint, for as long as the tab lives: leaving the console and coming back keeps them. */
import { useCallback, useSyncExternalStore } from "react";
import { keepLastCall } from "@/inference/last-call";
import { remember, type CallRecord } from "../results/outcome";
import { lastCall } from "./last-call";

const histories = new Map<string, readonly CallRecord[]>();
const listeners = new Set<() => void>();
const EMPTY: readonly CallRecord[] = [];
let lastId = 0;

export const nextCallId = (): number => (lastId += 1);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useHistory(endpoint: string): [readonly CallRecord[], (record: CallRecord) => void] {
  const history = useSyncExternalStore(subscribe, () => histories.get(endpoint) ?? EMPTY);
  const add = useCallback(
    (record: CallRecord) => {
      const history = remember(histories.get(endpoint) ?? EMPTY, record);
      histories.set(endpoint, history);
      const last = lastCall(history);
      if (last) keepLastCall(endpoint, last);
      for (const listener of listeners) listener();
    },
    [endpoint],
  );
  return [history, add];
}
