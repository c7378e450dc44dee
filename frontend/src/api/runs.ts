/** What a node does once, and reports until it has ended: trials, load sweeps, tunings. */
import { ApiProblem } from "./problem";

const SOON_MS = 1_000;
const LATER_MS = 15_000;
const UNDER_WAY = new Set(["Queued", "Running"]);

interface Run {
  state: string;
}

export const isUnderWay = ({ state }: Run): boolean => UNDER_WAY.has(state);

/** They are kept for a while; addresses and drafts that name one, for longer. */
export const isGone = (error: unknown): boolean => error instanceof ApiProblem && error.status === 404;

/** How soon one is asked for again: until it has ended or is gone, but not only until the server is away for a moment. */
export const untilEnded =
  (everyMs = SOON_MS) =>
  ({ state: { data, error } }: { state: { data: Run | undefined; error: unknown } }): number | false =>
    isGone(error) || (data !== undefined && !isUnderWay(data)) ? false : everyMs;

export const whileUnderWay = ({ state: { data } }: { state: { data: readonly Run[] | undefined } }): number =>
  data?.some(isUnderWay) ? SOON_MS : LATER_MS;
