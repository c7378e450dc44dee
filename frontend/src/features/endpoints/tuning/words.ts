/** What is said of tunings and their runs. */
import { plural, t } from "@lingui/core/macro";
import type { Deployment, Tuning, TuningRun, TuningSetting, TuningSummary } from "@/api/types";
import { bytes, count, duration, fixed, significant } from "@/components/format";
import { rateText } from "../load/words";

export const sameSetting = (one: TuningSetting, other: TuningSetting): boolean =>
  one.instances === other.instances && one.batch === other.batch && one.delay_us === other.delay_us;

export const settingKey = (one: TuningSetting): string => `${one.instances}-${one.batch}-${one.delay_us}`;

/** A delay means something only where requests are batched. */
export function settingText(setting: TuningSetting): string {
  const instances = plural(setting.instances, { one: "# instance", other: "# instances" });
  if (setting.batch === 0) return instances;
  if (setting.batch === 1) return t`${instances}, batch ${setting.batch}`;
  return t`${instances}, batch ${setting.batch}, delay ${setting.delay_us} µs`;
}

/** What the deployment does with the revision that was saved. Revisions are counted anew for each version of a model. */
export function savedUse(
  { applied, registered_model: model, version }: Pick<Tuning, "applied" | "registered_model" | "version">,
  deployment: Pick<Deployment, "model" | "version" | "config_revision">,
): "none saved" | "runs it" | "could run it" | "runs another version" {
  if (applied === null) return "none saved";
  if (deployment.model !== model || deployment.version !== version) return "runs another version";
  return deployment.config_revision === applied ? "runs it" : "could run it";
}

export const percentileOf = (tuning: Pick<TuningSummary, "slo_percentile">): string => `p${tuning.slo_percentile ?? 99}`;

/** As it was asked for: a limit of 20 ms is no 20.0. */
const asked = (value: number): string => (Number.isInteger(value) ? count(value) : significant(value));

export const limitText = (tuning: TuningSummary): string =>
  tuning.slo_percentile === null || tuning.slo_ms === null ? "" : `p${tuning.slo_percentile} ≤ ${asked(tuning.slo_ms)} ms`;

export function objectiveText(tuning: TuningSummary): string {
  const limit = limitText(tuning);
  if (tuning.mode === "rate") {
    const rate = asked(tuning.levels[0] ?? 0);
    return limit ? t`least latency at ${rate} requests a second, ${limit}` : t`least latency at ${rate} requests a second`;
  }
  return limit ? t`most answers with ${limit}` : t`most answers`;
}

export const tuningTitle = (tuning: TuningSummary): string => t`revision ${tuning.revision}, ${objectiveText(tuning)}`;

/** Of the replica; what it has on GPUs beside that, where something is told of them. */
export function memoryText(run: TuningRun): string {
  const memory = bytes(run.memory_bytes || null);
  if (!run.gpu_memory_bytes) return memory;
  const onGpus = bytes(run.gpu_memory_bytes);
  return t`${memory}, GPU ${onGpus}`;
}

/** Of a point in the picture. */
export function runText(run: TuningRun, tuning: TuningSummary): string {
  const what = settingText(run.setting);
  const [rate, percentile, latency, memory] = [
    rateText(run.throughput ?? 0),
    percentileOf(tuning),
    duration(run.latency_us),
    memoryText(run),
  ];
  return t`${what}: ${rate}, ${percentile} ${latency}, memory ${memory}`;
}

/** As it is read out: also what the picture tells by its marks. */
export function readText(run: TuningRun, tuning: Tuning, selected: boolean): string {
  const said = [runText(run, tuning)];
  if (run.chosen) said.push(t`chosen`);
  if (sameSetting(run.setting, tuning.now)) said.push(t`today`);
  if (run.frontier) said.push(t`on the frontier`);
  if (!run.within) said.push(t`over the objective`);
  if (selected) said.push(t`picked`);
  return said.join("; ");
}

export function progressText(tuning: TuningSummary): string {
  const { measured, budget, current } = tuning;
  const done = t`${measured} of at most ${budget} configurations measured.`;
  if (!current?.setting)
    return tuning.state === "Queued" ? t`${done} Waiting for the agent of ${tuning.node}` : t`${done} Choosing the next`;
  const [what, points, levels] = [settingText(current.setting), current.points, tuning.levels.length];
  return current.phase === "starting"
    ? t`${done} A private replica with ${what} starts.`
    : t`${done} Measuring ${what}: ${points} of ${levels} points.`;
}

const signed = (share: number): string => `${share < 0 ? "−" : "+"}${fixed(Math.abs(share) * 100, 0)} %`;

/** What was found, in sentences; the chosen one first. */
export function findings(tuning: Tuning): string[] {
  const chosen = tuning.runs.find((run) => run.chosen);
  const found: string[] = [];
  if (chosen) {
    const what = settingText(chosen.setting);
    if (sameSetting(chosen.setting, tuning.now)) found.push(t`Best: ${what}, which is what runs today.`);
    else if (tuning.gain === null) found.push(t`Best: ${what}.`);
    else {
      const gain = signed(tuning.mode === "rate" ? -tuning.gain : tuning.gain);
      found.push(
        tuning.mode === "rate"
          ? t`Best: ${what}. Latency: ${gain} against what runs today.`
          : t`Best: ${what}. Answers: ${gain} against what runs today.`,
      );
    }
  } else if (tuning.runs.length > 0 && tuning.state !== "Running" && tuning.state !== "Queued")
    found.push(t`No configuration that was measured holds the objective.`);
  if (tuning.stopped_by) found.push(t`Done because: ${tuning.stopped_by}.`);
  return found;
}
