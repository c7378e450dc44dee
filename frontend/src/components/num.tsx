/** A measured value with its unit in a lighter tone. */
import type { Measured } from "./format";
import classes from "./num.module.css";

export function Num({ parts, title }: { parts: Measured; title?: string }) {
  return (
    <span className={classes["num"]} title={title}>
      {parts.value}
      {parts.unit ? <span className={classes["unit"]}>{"\u00a0" + parts.unit}</span> : null}
    </span>
  );
}
