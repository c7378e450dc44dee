/** A tuning in other words: commands and calls. */
import { t } from "@lingui/core/macro";
import { apiPath } from "@/api/paths";
import type { Tuning, TuningInput, TuningSetting } from "@/api/types";
import type { Recipe } from "@/components/as-code";

const listed = (option: string, values: readonly number[] | undefined): string[] =>
  values && values.length > 0 ? [option, values.join(",")] : [];

/** `caseName`: commands call a saved case by its name, the API by its id. */
export function startRecipe(endpoint: string, deployment: string, body: TuningInput, caseName: string | undefined): Recipe {
  const { slo_percentile: percentile, slo_ms: limit } = body;
  return {
    title: t`Tune ${deployment} of ${endpoint}`,
    cli: [
      [
        ...["shoal", "tune", "start", endpoint, deployment],
        ...listed(body.mode === "rate" ? "--rate" : "--concurrency", body.levels),
        ...(percentile && limit ? ["--slo", `p${percentile}=${limit}`] : []),
        // why always: the command's own are longer than the API's.
        ...["--seconds", String(body.seconds), "--warm-up", String(body.warm_up_s)],
        ...(caseName ? ["--case", caseName] : []),
        ...listed("--instances", body.instances),
        ...listed("--batch-sizes", body.batch_sizes),
        ...listed("--delays", body.delays_us),
        ...(body.runs ? ["--runs", String(body.runs)] : []),
        ...(body.node ? ["--node", body.node] : []),
        ...(body.while_serving ? ["--while-serving"] : []),
        "--watch",
      ],
    ],
    api: [{ method: "POST", path: apiPath("endpoints", endpoint, "deployments", deployment, "tunings"), body }],
  };
}

/** The command knows only the chosen one. */
export const applyRecipe = (tuning: Pick<Tuning, "id">, setting: TuningSetting | undefined): Recipe => ({
  title: t`Save what tuning ${tuning.id} found`,
  ...(setting ? {} : { cli: [["shoal", "tune", "apply", tuning.id]] }),
  api: [{ method: "POST", path: apiPath("tunings", tuning.id, "apply"), body: setting ? { setting } : {} }],
});

/** No command updates to what is saved already: `shoal tune apply --roll-out` saves and updates at once. */
export const rollOutRecipe = (tuning: Pick<Tuning, "endpoint" | "deployment">, revision: number): Recipe => ({
  title: t`Update ${tuning.deployment} to configuration ${revision}`,
  api: [
    {
      method: "PATCH",
      path: apiPath("endpoints", tuning.endpoint, "deployments", tuning.deployment),
      body: { config_revision: revision },
    },
  ],
});
