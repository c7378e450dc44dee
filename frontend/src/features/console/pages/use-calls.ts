/** Calls of the bench: sending, what comes back, stopping, and the history they make. */
import { useCallback, useEffect, useRef, useState } from "react";
import { nextCallId, useHistory } from "../history/store";
import { callOf, type CallContent, type CallRecord } from "../results/outcome";
import type { Sent } from "@/inference/socket/console-socket";
import type { InferCall, StreamPart } from "@/inference/socket/messages";

export type Infer = (call: InferCall, onPart: (part: StreamPart) => void) => Sent;

/** Responses of a stream reach the page at most so often. */
const PARTS_MS = 100;

export interface Calls {
  history: readonly CallRecord[];
  shown: CallRecord | null;
  show: (id: number | null) => void;
  busy: boolean;
  /** The call as it ended; null where another is on its way. */
  send: (what: CallContent) => Promise<CallRecord | null>;
  stop: () => void;
}

export function useCalls(endpoint: string, model: string, infer: Infer): Calls {
  const [history, remember] = useHistory(endpoint);
  const [shownId, setShownId] = useState<number | null>(history[0]?.model === model ? history[0].id : null);
  const [busy, setBusy] = useState(false);
  const sent = useRef<Sent | null>(null);
  const timer = useRef<number>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const send = useCallback<Calls["send"]>(
    async (what) => {
      if (sent.current !== null) return null;
      const parts: StreamPart[] = [];
      const record: CallRecord = {
        ...what,
        id: nextCallId(),
        at: new Date().toISOString(),
        outcome: null,
        parts: [],
        first: history.length === 0,
      };
      remember(record);
      setShownId(record.id);
      setBusy(true);
      let waiting = false;
      const onPart = (part: StreamPart) => {
        parts.push(part);
        if (waiting) return;
        waiting = true;
        timer.current = window.setTimeout(() => {
          waiting = false;
          remember({ ...record, parts: [...parts] });
        }, PARTS_MS);
      };
      sent.current = infer(callOf(what), onPart);
      const outcome = await sent.current.outcome;
      window.clearTimeout(timer.current);
      sent.current = null;
      const done = { ...record, outcome, parts: [...parts] };
      remember(done);
      setBusy(false);
      return done;
    },
    [history.length, infer, remember],
  );
  return {
    history,
    shown: history.find((record) => record.id === shownId) ?? null,
    show: setShownId,
    busy,
    send,
    stop: () => sent.current?.cancel(),
  };
}
