/** The states of one upload in the browser, as a pure function: what the page shows follows from events alone. */
import { addSample, type RateSample } from "./transfer-rate";

type UploadPhase = "idle" | "packing" | "starting" | "sending" | "waiting" | "finishing" | "done" | "failed" | "canceled";

export interface UploadFailure {
  /** One sentence for people. */
  title: string;
  detail: string | null;
  hints: string[];
}

export interface UploadView {
  phase: UploadPhase;
  filename: string | null;
  size: number;
  /** Bytes that the server has confirmed, and bytes on the wire beyond them. */
  offset: number;
  inFlight: number;
  /** Bytes read so far to make one archive of several files. */
  packed: number;
  /** Bytes hashed so far. */
  hashed: number;
  uploadId: string | null;
  /** Failed tries in a row; 0 after any success. */
  attempt: number;
  /** When the next try comes (ms of the monotonic clock), while waiting. */
  retryAt: number | null;
  failure: UploadFailure | null;
  samples: RateSample[];
}

export type UploadEvent =
  | { type: "packing"; filename: string; size: number }
  | { type: "packed"; bytes: number }
  | { type: "chosen"; filename: string; size: number }
  | { type: "created"; uploadId: string; offset: number }
  | { type: "progress"; inFlight: number; at: number }
  | { type: "chunk-stored"; offset: number; at: number }
  | { type: "chunk-failed"; retryAt: number }
  | { type: "retrying" }
  | { type: "resumed"; offset: number; at: number }
  | { type: "hashed"; bytes: number }
  | { type: "finishing" }
  | { type: "done" }
  | { type: "failed"; failure: UploadFailure }
  | { type: "canceled" }
  | { type: "reset" };

export const IDLE_UPLOAD: UploadView = {
  phase: "idle",
  filename: null,
  size: 0,
  offset: 0,
  inFlight: 0,
  packed: 0,
  hashed: 0,
  uploadId: null,
  attempt: 0,
  retryAt: null,
  failure: null,
  samples: [],
};

const OVER: ReadonlySet<UploadPhase> = new Set(["done", "failed", "canceled", "idle"]);

export function uploadReducer(view: UploadView, event: UploadEvent): UploadView {
  if (event.type === "chosen") return { ...IDLE_UPLOAD, phase: "starting", filename: event.filename, size: event.size };
  if (event.type === "packing") return { ...IDLE_UPLOAD, phase: "packing", filename: event.filename, size: event.size };
  if (event.type === "reset") return IDLE_UPLOAD;
  // Late answers of a canceled or failed transfer must not bring it back.
  if (OVER.has(view.phase)) return view;
  switch (event.type) {
    case "created":
      return { ...view, phase: "sending", uploadId: event.uploadId, offset: event.offset, samples: [] };
    case "progress":
      return {
        ...view,
        inFlight: event.inFlight,
        samples: addSample(view.samples, { at: event.at, bytes: view.offset + event.inFlight }),
      };
    case "chunk-stored":
      return {
        ...view,
        phase: "sending",
        offset: event.offset,
        inFlight: 0,
        attempt: 0,
        retryAt: null,
        samples: addSample(view.samples, { at: event.at, bytes: event.offset }),
      };
    case "chunk-failed":
      return { ...view, phase: "waiting", inFlight: 0, attempt: view.attempt + 1, retryAt: event.retryAt, samples: [] };
    case "retrying":
      return { ...view, retryAt: null };
    case "resumed":
      return {
        ...view,
        phase: "sending",
        offset: event.offset,
        inFlight: 0,
        retryAt: null,
        samples: [{ at: event.at, bytes: event.offset }],
      };
    case "packed":
      return { ...view, packed: event.bytes };
    case "hashed":
      return { ...view, hashed: event.bytes };
    case "finishing":
      return { ...view, phase: "finishing", offset: view.size, inFlight: 0, retryAt: null };
    case "done":
      return { ...view, phase: "done" };
    case "failed":
      return { ...view, phase: "failed", inFlight: 0, retryAt: null, failure: event.failure };
    case "canceled":
      return { ...view, phase: "canceled", inFlight: 0, retryAt: null };
  }
}

/** 0 to 100. */
export function percentOf(view: UploadView): number {
  if (view.size === 0) return 0;
  return Math.min(100, ((view.offset + view.inFlight) / view.size) * 100);
}
