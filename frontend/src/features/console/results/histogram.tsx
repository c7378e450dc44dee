/** How the values of a tensor are spread. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useMemo } from "react";
import { significant } from "@/components/format";
import classes from "./histogram.module.css";
import { binned } from "./bins";
import { numbersOf, type OutputTensor } from "./output-tensor";

export function Histogram({ tensor }: { tensor: OutputTensor }) {
  const bins = useMemo(() => binned(numbersOf(tensor.elements)), [tensor]);
  if (bins === null) return null;
  const highest = Math.max(...bins.counts);
  return (
    <figure className={classes["histogram"]}>
      <div role="img" aria-label={t`Spread of ${tensor.name}: ${bins.counts.join(", ")} values in ${bins.counts.length} equal steps`}>
        {bins.counts.map((value, index) => (
          <span
            key={index}
            title={t`${significant(bins.low + bins.step * index)} to ${significant(bins.low + bins.step * (index + 1))}: ${value}`}
            style={{ height: `${(value / highest) * 100}%` }}
          />
        ))}
      </div>
      <figcaption>
        <span>{significant(bins.low)}</span>
        <span>
          <Trans>spread of the values</Trans>
        </span>
        <span>{significant(bins.low + bins.step * bins.counts.length)}</span>
      </figcaption>
    </figure>
  );
}
