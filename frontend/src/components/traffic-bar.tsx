/** Which part of the requests goes where. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import classes from "./traffic-bar.module.css";

const FILLS: Record<string, string> = { blue: "var(--fill-1)", green: "var(--fill-2)" };
const REST = ["#6b4fa0", "#8a5a00", "#025d80", "#932402"];

function fillOf(name: string, index: number): string {
  return FILLS[name] ?? REST[index % REST.length] ?? "var(--fill-1)";
}

export interface TrafficBarProps {
  /** Per cent by deployment. */
  traffic: Record<string, number>;
  /** Thin, without words, for tables. */
  thin?: boolean;
}

export function TrafficBar({ traffic, thin = false }: TrafficBarProps) {
  const parts = Object.entries(traffic).filter(([, share]) => share > 0);
  const words = parts.length > 0 ? parts.map(([name, share]) => `${name} ${share} %`).join(", ") : t`no traffic`;
  const sum = parts.reduce((total, [, share]) => total + share, 0) || 1;
  if (thin) {
    return (
      <span className={classes["thinWrap"]}>
        <span className={classes["thin"]} role="img" aria-label={t`Traffic: ${words}`} title={words}>
          {parts.map(([name, share], index) => (
            <span key={name} style={{ width: `${(share / sum) * 100}%`, background: fillOf(name, index) }} />
          ))}
        </span>
        <span className="secondary tabular">
          {parts.length > 0 ? `${parts.map(([, share]) => share).join(" / ")}\u00a0%` : t({ message: "none", context: "of traffic" })}
        </span>
      </span>
    );
  }
  return (
    <div className={classes["bar"]} role="img" aria-label={t`Traffic: ${words}`}>
      {parts.length === 0 ? (
        <span className={classes["none"]}>
          <Trans>No traffic: every request is answered 404</Trans>
        </span>
      ) : null}
      {parts.map(([name, share], index) => (
        <span
          key={name}
          className={classes["part"]}
          style={{ width: `${(share / sum) * 100}%`, background: fillOf(name, index) }}
          title={`${name} ${share} %`}
        >
          {share / sum >= 0.09 ? (
            <>
              <span className="truncate">{name}</span>
              <span>{`${share}\u00a0%`}</span>
            </>
          ) : null}
        </span>
      ))}
    </div>
  );
}
