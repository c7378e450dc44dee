/** Messages of `/ws/v1`. What does not look like one of them is dropped, not guessed at. */

interface SnapshotFrame {
  type: "snapshot";
  topic: string;
  keys: string[];
  t: number[];
  v: (number | null)[][];
}
interface TickFrame {
  type: "tick";
  topic: string;
  t: number;
  v: (number | null)[];
}
export interface StateFrame {
  type: "state";
  topic: string;
  /** Of the overview: the next change has the next number. */
  seq?: number;
  data: unknown;
}
/** A list holds the value to take instead; an object names the members, or the places, that differ. */
export type Change = [unknown] | { [name: string]: Change };

/** What differs from the frame with the number before. */
export interface ChangeFrame {
  type: "change";
  topic: string;
  seq: number;
  data: Change;
}
interface EventFrame {
  type: "event";
  topic: string;
  data: unknown;
}
/** Where the log of events stands for us; not `complete` when more was missed than is told again. */
interface PositionFrame {
  type: "position";
  topic: string;
  seq: number;
  complete: boolean;
}
interface ErrorFrame {
  type: "error";
  topic: string;
  code: string;
  message: string;
}
export type Frame = SnapshotFrame | TickFrame | StateFrame | ChangeFrame | EventFrame | PositionFrame | ErrorFrame;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Null when the text is not a frame that this studio knows. */
export function parseFrame(text: string): Frame | null {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(raw) || typeof raw["topic"] !== "string") return null;
  switch (raw["type"]) {
    case "snapshot":
      return Array.isArray(raw["keys"]) && Array.isArray(raw["t"]) && Array.isArray(raw["v"]) ? (raw as unknown as SnapshotFrame) : null;
    case "tick":
      return typeof raw["t"] === "number" && Array.isArray(raw["v"]) ? (raw as unknown as TickFrame) : null;
    case "state":
    case "event":
      return "data" in raw ? (raw as unknown as StateFrame | EventFrame) : null;
    case "change":
      return typeof raw["seq"] === "number" && isRecord(raw["data"]) ? (raw as unknown as ChangeFrame) : null;
    case "position":
      return typeof raw["seq"] === "number" && typeof raw["complete"] === "boolean" ? (raw as unknown as PositionFrame) : null;
    case "error":
      return raw as unknown as ErrorFrame;
    default:
      return null;
  }
}

/** The number up to which the log of events is known once this frame was heard; null for all other frames. */
export function positionOf(frame: Frame): number | null {
  if (frame.type === "position") return frame.seq;
  if (frame.type !== "event" || !isRecord(frame.data)) return null;
  const seq = frame.data["seq"];
  return typeof seq === "number" ? seq : null;
}
