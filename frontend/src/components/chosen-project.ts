/** The project that one works in, kept in this browser: lists show its things, and uploads go there. Empty: all of them. */
import { useSyncExternalStore } from "react";

const KEY = "shoal.project";
const heard = new Set<() => void>();

// why the guard: unit tests run where there is no browser.
export const chosenProject = (): string => (typeof localStorage === "undefined" ? "" : (localStorage.getItem(KEY) ?? ""));

export function chooseProject(name: string): void {
  if (name) localStorage.setItem(KEY, name);
  else localStorage.removeItem(KEY);
  for (const tell of heard) tell();
}

function subscribe(tell: () => void): () => void {
  heard.add(tell);
  return () => heard.delete(tell);
}

export const useChosenProject = (): string => useSyncExternalStore(subscribe, chosenProject);
