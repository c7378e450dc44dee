/** Continue from a configuration: it is loaded once on a node first, so that what does not load is told here and not by the last step. */
import { useEffect, useRef, useState } from "react";
import { ApiProblem, problemText } from "@/api/problem";
import { isUnderWay } from "@/api/runs";
import type { TryLoadControl } from "./use-try-load";

/** Nothing is wrong with the configuration: it could not be tried now, or may not be. */
const NOT_TRIED = new Set(["CodeNotApproved", "CodeNotAllowed", "SignatureRequired", "OutOfCapacity", "TooManyTrials"]);

export interface ContinueControl {
  /** Waiting for the trial, to go on by itself. */
  waiting: boolean;
  /** This configuration was tried and does not load. */
  refused: boolean;
  press: () => void;
  /** Goes on with whatever is known. */
  skip: () => void;
}

/** What one wants to go on with; `not`: the trial of before, whose end is no answer. */
interface Wanted {
  of: string;
  not: string | null;
}

/** `onForward` is told why it was not tried, where it was not. */
export function useContinue(trying: TryLoadControl, onForward: (untried: string | null) => void): ContinueControl {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const { of, trial, running } = trying;
  const ended = trial !== undefined && !isUnderWay(trial);
  const loads = ended && trial.state === "Succeeded";
  const answer = ended && wanted?.not !== trial.id;
  const latest = useRef({ onForward, cancel: trying.cancel, wanted });
  latest.current = { onForward, cancel: trying.cancel, wanted };

  useEffect(() => {
    if (wanted === null) return;
    if (wanted.of !== of) {
      // Edited meanwhile: nobody waits for the answer any more.
      setWanted(null);
      latest.current.cancel();
    } else if (answer) {
      setWanted(null);
      if (loads) latest.current.onForward(null);
    }
  }, [wanted, of, answer, loads]);

  const press = () => {
    if (loads) {
      onForward(null);
      return;
    }
    setWanted({ of, not: ended ? trial.id : null });
    if (running) return;
    trying.start(true, (error) => {
      // Edited or skipped meanwhile: it is nobody's answer.
      if (latest.current.wanted?.of !== of) return;
      setWanted(null);
      if (error instanceof ApiProblem && NOT_TRIED.has(error.code)) latest.current.onForward(problemText(error));
    });
  };
  const skip = () => {
    if (running) trying.cancel();
    setWanted(null);
    onForward(null);
  };
  return { waiting: wanted !== null && wanted.of === of, refused: ended && !running && trial.state === "Failed", press, skip };
}
