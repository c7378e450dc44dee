/** Class scores as bars, best first: the best few, or all of them in a list that draws only what is in view. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { count, percent, significant } from "@/components/format";
import classes from "./class-bars.module.css";
import { barLength, barRange, classLabel, foundClasses, rankedClasses, topClasses, type ClassScore } from "./class-scores";

export interface ClassBarsProps {
  values: ArrayLike<number>;
  labels: readonly string[] | null;
  probabilities: boolean;
}

type Range = ReturnType<typeof barRange>;

function Bar({ item, range, probabilities }: { item: ClassScore; range: Range; probabilities: boolean }) {
  const { index, label, score } = item;
  return (
    <>
      <span className={classes["barLabel"]} title={t`class ${index}`}>
        {label}
      </span>
      <span className={classes["barTrack"]}>
        <span className={classes["barFill"]} style={{ width: `${barLength(score, range) * 100}%` }} />
      </span>
      <span className={classes["barValue"]}>{Number.isNaN(score) ? "NaN" : probabilities ? percent(score) : significant(score)}</span>
    </>
  );
}

export function BestClasses({ values, labels, probabilities, few }: ClassBarsProps & { few: number }) {
  const scores = useMemo(() => topClasses(values, labels, few), [values, labels, few]);
  const range = barRange(
    scores.map(({ score }) => score),
    probabilities,
  );
  return (
    <ol className={classes["bars"]} aria-label={t`Classes`} tabIndex={0}>
      {scores.map((item, position) => (
        <li key={item.index} className={classes["barRow"]} data-first={position === 0}>
          <Bar item={item} range={range} probabilities={probabilities} />
        </li>
      ))}
    </ol>
  );
}

const ROW_PX = 30;
const SHOWN_ROWS = 12;

export function AllClasses({ values, labels, probabilities }: ClassBarsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [text, setText] = useState("");
  // Typing stays fluent while a long list is searched.
  const wanted = useDeferredValue(text);
  const order = useMemo(() => rankedClasses(values), [values]);
  const found = useMemo(() => foundClasses(order, labels, wanted), [order, labels, wanted]);
  const range = useMemo(() => barRange(values, probabilities), [values, probabilities]);
  const rows = useVirtualizer({
    count: found.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  return (
    <>
      <div className={classes["classSearch"]}>
        <TextInput
          aria-label={t`Find a class`}
          placeholder={labels ? t`Find a class by name or number` : t`Find a class by number`}
          leftSection={<IconSearch size={15} aria-hidden />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <span className="secondary" role="status">
          {found.length === order.length
            ? plural(order.length, { one: "# class", other: "# classes" })
            : t`${count(found.length)} of ${count(order.length)} classes`}
        </span>
      </div>
      <div
        ref={box}
        className={classes["classScroll"]}
        tabIndex={0}
        role="group"
        aria-label={t`All classes, best first`}
        style={{ height: Math.min(SHOWN_ROWS, Math.max(1, found.length)) * ROW_PX }}
      >
        {found.length === 0 ? (
          <p className="muted">
            <Trans>No class is called so.</Trans>
          </p>
        ) : null}
        <ol className={classes["classList"]} aria-label={t`Classes`} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index: at, start }) => {
            const index = found[at] ?? 0;
            const item = { index, score: values[index] ?? NaN, label: classLabel(labels, index) };
            return (
              <li
                key={index}
                className={classes["barRow"]}
                aria-setsize={found.length}
                aria-posinset={at + 1}
                data-first={index === order[0]}
                style={{ top: start, height: ROW_PX }}
              >
                <Bar item={item} range={range} probabilities={probabilities} />
              </li>
            );
          })}
        </ol>
      </div>
    </>
  );
}
