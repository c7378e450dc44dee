/** What is said of sweeps and their points. */
import { t } from "@lingui/core/macro";
import type { LoadSweep, LoadSweepPoint, LoadSweepSummary } from "@/api/types";
import { joined, MISSING, rateParts, significant } from "@/components/format";
import { metricText } from "@/metrics/registry";

/** Of a processor: from here on the load client may have been the limit. */
const BUSY = 0.9;

export const rateText = (perSecond: number): string => joined(rateParts(perSecond, "/s"));

export const levelText = (level: number, mode: LoadSweep["mode"]): string => (mode === "rate" ? `${significant(level)}/s` : String(level));

export const levelTitle = (mode: LoadSweep["mode"]): string => (mode === "rate" ? t`Asked` : t`At a time`);

export const pointText = (point: LoadSweepPoint, mode: LoadSweep["mode"]): string =>
  `${mode === "rate" ? levelText(point.level, mode) : t`${levelText(point.level, mode)} at a time`}: ${rateText(point.throughput)}, p50 ${metricText("p50_us", point.p50_us)}, p95 ${metricText("p95_us", point.p95_us)}, p99 ${metricText("p99_us", point.p99_us)}`;

/** As it is read out: also what the picture tells by its marks. */
export function readText(point: LoadSweepPoint, sweep: LoadSweep): string {
  const said = [pointText(point, sweep.mode)];
  if (point.level === sweep.knee) said.push(t`knee`);
  if (point.within_slo === false) said.push(t`over the objective`);
  return said.join("; ");
}

export const errorsText = (point: LoadSweepPoint): string =>
  Object.entries(point.errors)
    .map(([kind, many]) => `${kind}: ${many}`)
    .join("; ");

/** What the curve shows, in sentences. */
export function findings(sweep: LoadSweep): string[] {
  const unit = sweep.mode === "rate" ? t`a second asked` : t`at a time`;
  const found: string[] = [];
  if (sweep.knee !== null && sweep.knee_throughput !== null)
    found.push(t`The knee is at ${sweep.knee} ${unit}, with ${rateText(sweep.knee_throughput)}: more load brings above all longer waits.`);
  if (sweep.slo_percentile !== null)
    found.push(
      sweep.slo_throughput === null || sweep.slo_level === null
        ? t`No point is within the objective, p${sweep.slo_percentile} ≤ ${sweep.slo_ms ?? MISSING} ms.`
        : t`Within the objective, p${sweep.slo_percentile} ≤ ${sweep.slo_ms ?? MISSING} ms, it answers ${rateText(sweep.slo_throughput)}, at ${sweep.slo_level} ${unit}.`,
    );
  if (sweep.stopped_by) found.push(t`It ended early: ${sweep.stopped_by}.`);
  if (sweep.points.some((point) => point.client_busy > BUSY))
    found.push(t`The load client used all of a processor: the replica may carry more.`);
  if (sweep.points.some((point) => point.others > 0))
    found.push(t`Clients sent requests meanwhile: batches, queue and compute are of theirs, too.`);
  return found;
}

export const sweepTitle = (sweep: LoadSweepSummary): string =>
  t`revision ${sweep.revision}, ${sweep.case || t`random data`}, ${sweep.mode === "rate" ? t`by rate` : t`by concurrency`}`;
