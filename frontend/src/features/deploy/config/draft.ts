/** What was typed so far, kept in this browser until the deployment is sent, so that a reload or a closed tab loses nothing. */
import { useCallback, useState } from "react";

export interface Draft {
  modelName: string;
  /** config.pbtxt per repository model, by position: names may hold any character. */
  texts: string[];
  target: "new" | "existing";
  endpoint: string;
  deployment: string;
  instanceCount: number;
  /** Send all traffic to it once it is ready. */
  takeTraffic: boolean;
  /** Registered by an earlier try of the last step. */
  registered: { model: string; version: number; revision: number | null } | null;
}

const PREFIX = "shoal.draft.";

function stored(key: string): Partial<Draft> {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key) ?? "{}") as Partial<Draft>;
  } catch {
    // Storage is off, or the entry is from another version: start afresh.
    return {};
  }
}

function store(key: string, draft: Draft | null): void {
  try {
    if (draft === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, JSON.stringify(draft));
  } catch {
    // Storage is off or full: the draft lives as long as the page.
  }
}

export interface DraftControl {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  discard: () => void;
}

export function useDraft(key: string, initial: Draft): DraftControl {
  const [draft, setDraft] = useState<Draft>(() => {
    const earlier = stored(key);
    // Texts of an archive with another number of models are of another file.
    const texts = earlier.texts?.length === initial.texts.length ? earlier.texts : initial.texts;
    return { ...initial, ...earlier, texts };
  });
  const change = useCallback(
    (part: Partial<Draft>) =>
      setDraft((now) => {
        const next = { ...now, ...part };
        store(key, next);
        return next;
      }),
    [key],
  );
  const discard = useCallback(() => store(key, null), [key]);
  return { draft, change, discard };
}
