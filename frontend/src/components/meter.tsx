/** How full something is, or how much of a whole. */
import classes from "./meter.module.css";

export interface MeterProps {
  label: string;
  /** 0..1, null when unknown. */
  share: number | null;
  text: string;
  /** It is a part of a whole, which may well be all of it. */
  part?: boolean;
}

const NEARLY_FULL = 0.9;

export function Meter({ label, share, text, part = false }: MeterProps) {
  return (
    <span className={classes["meter"]}>
      <span className={classes["words"]}>
        <span className="muted">{label}</span>
        <span>{text}</span>
      </span>
      <span className={classes["track"]} aria-hidden>
        <span
          className={classes["fill"]}
          data-full={!part && (share ?? 0) > NEARLY_FULL ? "" : undefined}
          style={{ width: `${Math.min(1, Math.max(0, share ?? 0)) * 100}%` }}
        />
      </span>
    </span>
  );
}
