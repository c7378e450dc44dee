/** How large the executed batches were, as shares of all executions. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Tooltip } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import charts from "@/components/charts/charts.module.css";
import { useSeriesKeys } from "@/live/hooks";
import { batchKey, batchSizes, metricKey } from "@/live/metric-keys";
import type { Series } from "@/live/series";
import { helpOf, METRICS, metricText } from "@/metrics/registry";

const SHOWN = 7;
const { title: TITLE, hint: HINT } = METRICS.batch;

function Bar({ series, size }: { series: Series; size: number }) {
  const fill = useRef<HTMLDivElement>(null);
  const text = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      series.onDraw(() => {
        const share = series.ring.last(batchKey(size));
        // why a transform: a width would make the browser lay out the page on every tick.
        if (fill.current) fill.current.style.transform = `scaleX(${share ?? 0})`;
        if (text.current) text.current.textContent = metricText("batch", share);
      }),
    [series, size],
  );
  return (
    <>
      <span>{size}</span>
      <div className={charts["track"]}>
        <div ref={fill} className={charts["fill"]} />
      </div>
      <span ref={text}>–</span>
    </>
  );
}

export function BatchPanel({ series, dimmed }: { series: Series; dimmed: boolean }) {
  const sizes = batchSizes(useSeriesKeys(series));
  const mean = useRef<HTMLElement>(null);
  const pending = useRef<HTMLElement>(null);
  const bars = useRef<HTMLDivElement>(null);
  const idle = useRef<HTMLParagraphElement>(null);
  const keys = sizes.join(",");
  useEffect(
    () =>
      series.onDraw(() => {
        if (mean.current) mean.current.textContent = metricText("mean_batch", series.ring.last(metricKey("mean_batch")));
        if (pending.current) pending.current.textContent = metricText("pending", series.ring.last(metricKey("pending")));
        // why said: bars that are all empty look like a chart that does not work.
        const quiet = keys === "" || keys.split(",").every((size) => series.ring.last(batchKey(Number(size))) === null);
        if (bars.current) bars.current.hidden = quiet;
        if (idle.current) idle.current.hidden = !quiet;
      }),
    [series, keys],
  );
  // why the largest: with many sizes the full batches are what batching is judged by.
  const shown = sizes.slice(-SHOWN);
  return (
    <section className={charts["panel"]} aria-label={TITLE} data-dimmed={dimmed || undefined}>
      <header className={charts["head"]}>
        <h3 className={charts["title"]}>{TITLE}</h3>
        <span className="secondary truncate">{HINT}</span>
        <span className={charts["stamp"]} />
        <span className={charts["tools"]}>
          <Tooltip multiline maw={320} label={helpOf("batch")}>
            <ActionIcon size={24} aria-label={t`How ${TITLE} is computed`}>
              <IconInfoCircle size={15} stroke={1.6} />
            </ActionIcon>
          </Tooltip>
        </span>
      </header>
      <div ref={bars} className={charts["bars"]}>
        {shown.map((size) => (
          <Bar key={size} series={series} size={size} />
        ))}
      </div>
      <p ref={idle} className={charts["idle"]} hidden>
        <Trans>No execution was counted in the last {METRICS.batch.window} s</Trans>
      </p>
      <p className={charts["foot"]}>
        {METRICS.mean_batch.label} <b ref={mean}>–</b>
        {"\u2003"}
        {METRICS.pending.label} <b ref={pending}>–</b>
        {sizes.length > SHOWN
          ? `\u2003${plural(sizes.length - SHOWN, { one: "# smaller size not shown", other: "# smaller sizes not shown" })}`
          : ""}
      </p>
    </section>
  );
}
