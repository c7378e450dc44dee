/** A state as icon + word: never colour alone. */
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconCircleXFilled,
  IconInfoCircleFilled,
  IconLoader2,
} from "@tabler/icons-react";
import { stateWord } from "./state-words";
import classes from "./status.module.css";

/** `note`: only said, nothing is asked or under way. */
export type Tone = "ok" | "warn" | "error" | "info" | "idle" | "note";

const TONES: Record<string, Tone> = {
  healthy: "ok",
  ready: "ok",
  online: "ok",
  live: "ok",
  succeeded: "ok",
  running: "info",
  deploying: "info",
  loading: "info",
  starting: "info",
  queued: "idle",
  downloading: "info",
  updating: "info",
  creating: "info",
  deleting: "info",
  joining: "info",
  placed: "info",
  warming: "info",
  verifying: "info",
  inspecting: "info",
  uploading: "info",
  degraded: "warn",
  draining: "warn",
  cordoned: "warn",
  warning: "warn",
  failed: "error",
  error: "error",
  unavailable: "error",
  unreachable: "error",
  canceled: "idle",
  suspect: "warn",
  scaling: "info",
  unknown: "warn",
  offline: "error",
  down: "error",
  crashed: "error",
};

function toneOf(state: string): Tone {
  return TONES[state.toLowerCase()] ?? "idle";
}

const ICONS = {
  ok: IconCircleCheckFilled,
  warn: IconAlertTriangleFilled,
  error: IconCircleXFilled,
  info: IconLoader2,
  idle: IconCircleDashed,
  note: IconInfoCircleFilled,
} as const;

export interface StatusProps {
  /** The word that is shown. */
  state: string;
  /** Overrides the tone that the word implies. */
  tone?: Tone;
  /** Without the chip's background, for dense tables. */
  plain?: boolean;
  title?: string;
  /** What follows the word. */
  children?: React.ReactNode;
}

export function Status({ state, tone = toneOf(state), plain = false, title, children }: StatusProps) {
  const Icon = ICONS[tone];
  return (
    <span className={`${classes["chip"]} ${plain ? classes["plain"] : ""}`} data-tone={tone} title={title}>
      <Icon size={14} aria-hidden className={tone === "info" ? classes["spin"] : undefined} />
      <span>
        {stateWord(state)}
        {children}
      </span>
    </span>
  );
}

/** The bare icon of a tone, for lists whose text already says the state. */
export function ToneIcon({ tone, label, size = 16 }: { tone: Tone; label: string; size?: number }) {
  const Icon = ICONS[tone];
  return (
    <span className={classes["icon"]} data-tone={tone} role="img" aria-label={label}>
      <Icon size={size} aria-hidden className={tone === "info" ? classes["spin"] : undefined} />
    </span>
  );
}

/** A small label: a version, a tag, a backend. */
export function Chip({ children, tone = "idle", mono = false }: { children: React.ReactNode; tone?: Tone; mono?: boolean }) {
  return (
    <span className={`${classes["chip"]} ${classes["label"]} ${mono ? "mono" : ""}`} data-tone={tone}>
      {children}
    </span>
  );
}
