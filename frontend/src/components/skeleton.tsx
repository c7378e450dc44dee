/** Loading in the shape of what comes; shown after 150 ms only. */
import { t } from "@lingui/core/macro";
import classes from "./states.module.css";

export function Skeleton({ height = 16, width = "100%" }: { height?: number; width?: number | string }) {
  return <div className={classes["skeleton"]} style={{ height, width }} aria-hidden />;
}

/** Rows of a table or list that is loading. */
export function SkeletonRows({ rows = 5, label = t`Loading` }: { rows?: number; label?: string }) {
  return (
    <div style={{ display: "grid", gap: 12, padding: 12 }} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={20} width={`${92 - ((row * 13) % 37)}%`} />
      ))}
    </div>
  );
}
