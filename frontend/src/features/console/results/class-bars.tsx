/** Class scores as bars, best first. */
import { percent, significant } from "@/components/format";
import classes from "../console.module.css";
import { barLengths, type ClassScore } from "./class-scores";

export function ClassBars({ scores, probabilities }: { scores: readonly ClassScore[]; probabilities: boolean }) {
  const lengths = barLengths(scores, probabilities);
  return (
    <ol className={classes["bars"]} aria-label="Classes" tabIndex={0}>
      {scores.map(({ index, label, score }, position) => (
        <li key={index} className={classes["barRow"]} data-first={position === 0}>
          <span className={classes["barLabel"]} title={`class ${index}`}>
            {label}
          </span>
          <span className={classes["barTrack"]}>
            <span
              className={classes["barFill"]}
              style={{ display: "block", width: `${(lengths[position] ?? 0) * 100}%` }}
            />
          </span>
          <span className={classes["barValue"]}>
            {Number.isNaN(score) ? "NaN" : probabilities ? percent(score) : significant(score)}
          </span>
        </li>
      ))}
    </ol>
  );
}
