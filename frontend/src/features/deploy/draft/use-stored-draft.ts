/** One draft of the server as the wizard sees it: loaded once, then the page's own, saved by itself. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { deleteDraft, draftQuery, saveDraft } from "@/api/drafts";
import { keys } from "@/api/keys";
import { ApiProblem } from "@/api/problem";
import { Autosave, type SaveState } from "./autosave";
import { draftData, EMPTY_DRAFT, type DraftData } from "./draft";

export interface StoredDraftControl {
  data: DraftData | null;
  error: unknown;
  save: SaveState;
  change: (part: Partial<DraftData>) => void;
  setTitle: (title: string) => void;
  /** Saves what is not saved yet. */
  flush: () => Promise<void>;
  retry: () => void;
  /** Takes what the server has instead of what is on this page. */
  reload: () => void;
  /** Deletes it. `keepUpload`: what it was made of stays. */
  discard: (keepUpload: boolean) => Promise<void>;
}

interface Held {
  title: string;
  data: DraftData;
}

const SAVED: SaveState = { kind: "saved", at: null };
const nothing = () => () => undefined;
const pageLeft = () => new Promise<void>((resolve) => window.addEventListener("pagehide", () => resolve(), { once: true }));

export function useStoredDraft(id: string | undefined): StoredDraftControl {
  const queryClient = useQueryClient();
  const stored = useQuery({
    ...draftQuery(id ?? ""),
    enabled: id !== undefined,
    // From here on the page knows better than the server.
    staleTime: Number.POSITIVE_INFINITY,
    // A later visit reads what was saved, not what this one began with.
    gcTime: 0,
    refetchOnWindowFocus: false,
    retry: (count, error) => !(error instanceof ApiProblem && error.status === 404) && count < 3,
  });
  const row = stored.data;
  const [held, setHeld] = useState<{ of: string; value: Held } | null>(null);
  // A fresh answer of the server (another draft, or this one loaded anew) is taken as it is.
  const identity = row ? `${row.id}@${row.revision}` : "";
  const value = held?.of === identity ? held.value : row ? { title: row.title, data: draftData(row.data) } : null;

  const autosave = useMemo(() => {
    if (!row) return null;
    return new Autosave<Held>({
      revision: row.revision,
      isConflict: (error) => error instanceof ApiProblem && error.code === "DraftChanged",
      save: async ({ title, data }, revision) => {
        const upload = data.origin?.kind === "upload" ? data.origin.upload : "";
        const body = { title, upload_id: upload, data, ...(revision === null ? {} : { revision }) };
        const answer = await saveDraft(row.id, body);
        void queryClient.invalidateQueries({ queryKey: keys.drafts.list });
        return answer.revision;
      },
    });
  }, [queryClient, row]);
  const save = useSyncExternalStore(autosave?.subscribe ?? nothing, () => autosave?.state ?? SAVED);

  useEffect(() => {
    const leave = () => autosave?.leave();
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      void autosave?.flush();
    };
  }, [autosave]);

  const update = useCallback(
    (part: (now: Held) => Held) => {
      if (!row) return;
      setHeld((old) => {
        const now = old?.of === identity ? old.value : { title: row.title, data: draftData(row.data) };
        return { of: identity, value: part(now) };
      });
    },
    [identity, row],
  );
  useEffect(() => {
    if (held?.of === identity) autosave?.change(held.value);
  }, [autosave, held, identity]);

  return {
    data: id === undefined ? EMPTY_DRAFT : (value?.data ?? null),
    error: stored.error,
    save,
    change: useCallback((part) => update((now) => ({ ...now, data: { ...now.data, ...part } })), [update]),
    setTitle: useCallback((title) => update((now) => (now.title === title ? now : { ...now, title })), [update]),
    flush: useCallback(async () => autosave?.flush(), [autosave]),
    retry: () => void autosave?.retry(),
    reload: () => {
      void autosave?.stop();
      setHeld(null);
      void stored.refetch();
    },
    discard: async (keepUpload) => {
      // A save that arrives later would find nothing; but a page that is left waits for nothing.
      await Promise.race([autosave?.stop(), pageLeft()]);
      if (id === undefined) return;
      // The row stays in memory until the page is left: asked for again, it would be a 404.
      await deleteDraft(id, keepUpload);
      void queryClient.invalidateQueries({ queryKey: keys.drafts.list });
    },
  };
}
