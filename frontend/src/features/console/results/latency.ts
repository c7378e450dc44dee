/** The round trip cut into the parts that were measured. Microseconds. */
import { t } from "@lingui/core/macro";
import type { Timing } from "@/inference/socket/messages";
import { METRICS } from "@/metrics/registry";

export interface Segment {
  key: "studio" | "gateway" | "queue" | "input" | "compute" | "output" | "first" | "further";
  label: string;
  us: number | null;
  colour: string;
}

/** As in the charts of the endpoint. */
const colour = (metric: "queue_us" | "compute_input_us" | "compute_infer_us" | "compute_output_us") => `var(--${METRICS[metric].color})`;

/**
 * `total_us` is the call as the studio's server sees it; the rest of the round trip is between browser and studio. The total
 * less what the runtime accounts for is the way through the gateway; without the runtime's parts only what was measured there.
 * The model's time leads; the studio's own part, which no client of the endpoint has, comes last.
 */
export function latencySegments(timing: Timing, roundTripUs: number): Segment[] {
  if (timing.first_us !== undefined && timing.first_us !== null) return streamSegments(timing, timing.first_us, roundTripUs);
  const runtime = [timing.queue_us, timing.compute_input_us, timing.compute_infer_us, timing.compute_output_us];
  const known = runtime.reduce<number>((sum, part) => sum + (part ?? 0), 0);
  const total = timing.total_us;
  const complete = runtime.every((part) => part !== null);
  const gateway = total !== null && complete ? Math.max(0, total - known) : timing.gateway_us;
  const studio = total === null ? null : Math.max(0, roundTripUs - total);
  return [
    { key: "compute", label: t`Compute`, us: timing.compute_infer_us, colour: colour("compute_infer_us") },
    { key: "input", label: t`Input`, us: timing.compute_input_us, colour: colour("compute_input_us") },
    { key: "output", label: t`Output`, us: timing.compute_output_us, colour: colour("compute_output_us") },
    { key: "queue", label: t`Queue`, us: timing.queue_us, colour: colour("queue_us") },
    { key: "gateway", label: t`Gateway and network`, us: gateway, colour: "var(--s5)" },
    { key: "studio", label: t`Browser and studio`, us: studio, colour: "var(--ink-3)" },
  ];
}

/** Of a stream the model's own counters cover every response, so only what was seen from outside is shown. */
function streamSegments(timing: Timing, firstUs: number, roundTripUs: number): Segment[] {
  const total = timing.total_us ?? firstUs;
  return [
    { key: "first", label: t`Until the first response`, us: firstUs, colour: "var(--s2)" },
    { key: "further", label: t`Further responses`, us: Math.max(0, total - firstUs), colour: "var(--s1)" },
    { key: "studio", label: t`Browser and studio`, us: Math.max(0, roundTripUs - total), colour: "var(--ink-3)" },
  ];
}
