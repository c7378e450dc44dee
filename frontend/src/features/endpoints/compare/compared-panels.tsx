/** What is compared: the range, and a panel for each metric with one line for each thing. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconDownload, IconZoomReset } from "@tabler/icons-react";
import { type Preset, PRESETS, stepText, type TimeRange } from "@/app/time-range";
import type { ChartGroup } from "@/components/charts/chart-group";
import { downloadFile } from "@/components/download";
import { EmptyState } from "@/components/empty-state";
import { ProblemCard } from "@/components/problem-card";
import { RangeFields } from "@/components/range-fields";
import { Segmented } from "@/components/segmented";
import { Skeleton } from "@/components/skeleton";
import { FoldingPanels } from "../components/folding-panels";
import type { Made } from "../gap-reason";
import { useGapReasons } from "../hooks/use-gap-reasons";
import { toCsv } from "../metrics-csv";
import { comparePanels, type Devices, type Kind, metricsOf } from "./compare";
import classes from "./compare-page.module.css";
import { useCompared } from "./use-compared";

export const DEFAULT: Preset = "1h";
/** The bands of more lines would hide each other. */
const FEW = 2;

interface RangeProps {
  range: TimeRange;
  /** As it stands in the address; undefined for the default. */
  onRange: (range: string | undefined) => void;
}

export interface ComparedPanelsProps extends RangeProps {
  kind: Kind;
  ids: readonly string[];
  /** Ids of the panels. */
  shown: readonly string[];
  charts: ChartGroup;
  devices: Devices;
  made: Made;
}

function Range({ range, onRange }: RangeProps) {
  return (
    <>
      <Segmented
        label={t`Range`}
        value={range.kind === "following" ? range.preset : ("fixed" as Preset)}
        options={PRESETS.map((value) => ({ value, label: value }))}
        onChange={(value) => onRange(value === DEFAULT ? undefined : value)}
      />
      <RangeFields range={range} onChange={onRange} />
      {range.kind === "fixed" ? (
        <Button variant="default" leftSection={<IconZoomReset size={15} />} onClick={() => onRange(undefined)}>
          <Trans>Follow live values</Trans>
        </Button>
      ) : null}
    </>
  );
}

export function ComparedPanels({ kind, ids, shown, range, charts, devices, made, onRange }: ComparedPanelsProps) {
  const { series, step, loading, error, retry } = useCompared(kind, ids, metricsOf(kind, ids, shown, devices), range);
  useGapReasons(charts, series, made);
  const list = comparePanels(kind, ids, shown, devices);
  const exportCsv = () => {
    const end = Number.isNaN(series.ring.lastTime) ? Date.now() / 1000 : series.ring.lastTime;
    const from = range.kind === "fixed" ? range.from : end - range.seconds;
    const keys = list.flatMap((panel) => panel.lines.map((line) => line.key));
    downloadFile("metrics.csv", "text/csv", toCsv(series.ring, keys, from, end));
  };
  if (list.length === 0)
    return <EmptyState title={t`Nothing of this is measured here`} detail={t`None of these nodes has a GPU: choose other panels.`} />;
  return (
    <>
      <div className={classes["bar"]}>
        <Range range={range} onRange={onRange} />
        <span className={classes["end"]}>
          {step === null ? null : (
            <span className="secondary">
              {ids.length <= FEW ? t`points of ${stepText(step)}: mean, with lowest and highest` : t`points of ${stepText(step)}: mean`}
            </span>
          )}
          <Button variant="default" leftSection={<IconDownload size={15} />} onClick={exportCsv} disabled={loading}>
            <Trans>CSV</Trans>
          </Button>
        </span>
      </div>
      {error ? <ProblemCard error={error} title={t`The metrics could not be read`} onRetry={retry} /> : null}
      {loading ? <Skeleton height={420} /> : null}
      <h2 className="sr-only">
        <Trans>Panels</Trans>
      </h2>
      {loading ? null : <FoldingPanels panels={list} charts={charts} series={series} range={range.seconds} envelope={ids.length <= FEW} />}
    </>
  );
}
