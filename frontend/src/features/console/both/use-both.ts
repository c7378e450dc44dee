/** One call sent to several deployments, one after the other, so that none slows another down. */
import { useCallback, useRef, useState } from "react";
import type { Sent } from "@/inference/socket/console-socket";
import type { StreamPart } from "@/inference/socket/messages";
import type { Infer } from "../pages/use-calls";
import { callOf, type CallContent } from "../results/outcome";
import type { Answered } from "./compare";

export interface Both {
  answers: readonly Answered[];
  busy: boolean;
  /** `first`: what the target of the console has answered. */
  send: (what: CallContent, first: Answered, others: readonly string[]) => Promise<void>;
  stop: () => void;
  close: () => void;
}

export function useBoth(infer: Infer): Both {
  const [answers, setAnswers] = useState<readonly Answered[]>([]);
  const [busy, setBusy] = useState(false);
  const sent = useRef<Sent | null>(null);
  const stopped = useRef(false);
  const send = useCallback<Both["send"]>(
    async (what, first, others) => {
      let found: readonly Answered[] = [first];
      stopped.current = first.outcome.kind === "cancelled";
      setAnswers(found);
      setBusy(true);
      for (const to of others) {
        if (stopped.current) break;
        const parts: StreamPart[] = [];
        sent.current = infer(callOf({ ...what, deployment: to }), (part) => parts.push(part));
        const outcome = await sent.current.outcome;
        found = [...found, { to, outcome, parts }];
        setAnswers(found);
      }
      sent.current = null;
      setBusy(false);
    },
    [infer],
  );
  return {
    answers,
    busy,
    send,
    stop: () => {
      stopped.current = true;
      sent.current?.cancel();
    },
    close: () => setAnswers([]),
  };
}
