/** What is said of sweeps and their points. */
import type { LoadSweep, LoadSweepPoint, LoadSweepSummary } from "@/api/types";
import { rateParts, joined, significant } from "@/components/format";
import { metricText } from "@/metrics/registry";

/** Of a processor: from here on the load client may have been the limit. */
const BUSY = 0.9;

export const rateText = (perSecond: number): string => joined(rateParts(perSecond, "/s"));

export const levelText = (level: number, mode: LoadSweep["mode"]): string => (mode === "rate" ? `${significant(level)}/s` : String(level));

export const levelTitle = (mode: LoadSweep["mode"]): string => (mode === "rate" ? "Asked" : "At a time");

export const pointText = (point: LoadSweepPoint, mode: LoadSweep["mode"]): string =>
  `${levelText(point.level, mode)}${mode === "rate" ? "" : " at a time"}: ${rateText(point.throughput)}, p50 ${metricText("p50_us", point.p50_us)}, p95 ${metricText("p95_us", point.p95_us)}, p99 ${metricText("p99_us", point.p99_us)}`;

export const errorsText = (point: LoadSweepPoint): string =>
  Object.entries(point.errors)
    .map(([kind, many]) => `${kind}: ${many}`)
    .join("; ");

/** What the curve shows, in sentences. */
export function findings(sweep: LoadSweep): string[] {
  const unit = sweep.mode === "rate" ? "a second asked" : "at a time";
  const found: string[] = [];
  if (sweep.knee !== null && sweep.knee_throughput !== null)
    found.push(`The knee is at ${sweep.knee} ${unit}, with ${rateText(sweep.knee_throughput)}: more load brings above all longer waits.`);
  if (sweep.slo_percentile !== null)
    found.push(
      sweep.slo_throughput === null || sweep.slo_level === null
        ? `No point is within the objective, p${sweep.slo_percentile} ≤ ${sweep.slo_ms} ms.`
        : `Within the objective, p${sweep.slo_percentile} ≤ ${sweep.slo_ms} ms, it answers ${rateText(sweep.slo_throughput)}, at ${sweep.slo_level} ${unit}.`,
    );
  if (sweep.stopped_by) found.push(`It ended early: ${sweep.stopped_by}.`);
  if (sweep.points.some((point) => point.client_busy > BUSY))
    found.push("The load client used all of a processor: the replica may carry more.");
  if (sweep.points.some((point) => point.others > 0))
    found.push("Clients sent requests meanwhile: batches, queue and compute are of theirs, too.");
  return found;
}

export const sweepTitle = (sweep: LoadSweepSummary): string =>
  `revision ${sweep.revision}, ${sweep.case || "random data"}, ${sweep.mode === "rate" ? "by rate" : "by concurrency"}`;
