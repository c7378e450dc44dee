/** The endpoint's actions in other words: commands, calls, files. */
import { t } from "@lingui/core/macro";
import { apiPath } from "@/api/paths";
import type { Recipe } from "@/components/as-code";
import { type PlanBody, planOptions } from "@/components/rollout-plan/plan";
import type { LimitsBody } from "./limits/limits";
import { bodyOf, type RoutingDraft, ruleText } from "./routing/routing";
import { type Split, splitText } from "./traffic";

const pairs = (split: Split): string[] => Object.entries(split).map(([name, share]) => `${name}=${share}`);

export function trafficRecipe(endpoint: string, split: Split): Recipe {
  return {
    title: t`Set the traffic of ${endpoint} to ${splitText(split, Object.keys(split))}`,
    cli: [["shoal", "traffic", endpoint, ...pairs(split)]],
    api: [{ method: "PUT", path: apiPath("endpoints", endpoint, "traffic"), body: { traffic: split } }],
  };
}

/** The rules are said as a whole, and so is what clients are told apart by. */
export function routingRecipe(endpoint: string, draft: RoutingDraft): Recipe {
  const body = bodyOf(draft);
  const { traffic_rules: rules, sticky } = body;
  const by = sticky === null ? "none" : draft.by === "header" ? `header=${draft.name}` : `cookie=${draft.name}`;
  const age = draft.by === "cookie" && draft.maxAge !== "" ? ["--max-age", String(draft.maxAge)] : [];
  const said = rules.length > 0 ? draft.rules.flatMap((rule) => ["--rule", ruleText(rule)]) : ["--no-rules"];
  return {
    title: t`Set the rules of ${endpoint}`,
    cli: [["shoal", "traffic", endpoint, ...said, "--sticky", by, ...age]],
    api: [{ method: "PUT", path: apiPath("endpoints", endpoint, "traffic"), body }],
    yaml: [
      {
        name: `${endpoint}.yml`,
        document: { name: endpoint, traffic_rules: rules, sticky: sticky ?? {} },
        command: ["shoal", "online-endpoint", "update", "--file", `${endpoint}.yml`],
      },
    ],
  };
}

export function rolloutRecipe(endpoint: string, body: PlanBody & { deployment: string }): Recipe {
  return {
    title: t`Roll out ${body.deployment} of ${endpoint}`,
    cli: [["shoal", "rollout", "start", endpoint, body.deployment, ...planOptions(body)]],
    api: [{ method: "POST", path: apiPath("endpoints", endpoint, "rollouts"), body }],
  };
}

export function mirrorRecipe(endpoint: string, deployment: string, share: number): Recipe {
  return {
    title: share > 0 ? t`Send ${deployment} copies of ${share} % of the requests` : t`Stop sending copies`,
    cli: [["shoal", "traffic", endpoint, "--mirror", `${deployment}=${share}`]],
    api: [
      {
        method: "PUT",
        path: apiPath("endpoints", endpoint, "mirror"),
        body: { mirror_traffic: share > 0 ? { [deployment]: share } : {} },
      },
    ],
  };
}

export function rollBackRecipe(endpoint: string, deployment: string, revision: number): Recipe {
  return {
    title: t`Roll ${deployment} back to revision ${revision}`,
    api: [{ method: "POST", path: apiPath("endpoints", endpoint, "deployments", deployment, "rollback"), body: { revision } }],
  };
}

export function updateRecipe(endpoint: string, deployment: string, body: Record<string, unknown>): Recipe {
  return {
    title: t`Update ${deployment}`,
    api: [{ method: "POST", path: apiPath("endpoints", endpoint, "deployments", deployment, "update"), body }],
  };
}

/** In a file and for `--set`, 0 and {} take a limit away: what is left out stays as it is. */
export function limitsRecipe(endpoint: string, body: LimitsBody): Recipe {
  const values = { cors_origins: body.cors_origins, max_request_bytes: body.max_request_bytes ?? 0, rate_limit: body.rate_limit ?? {} };
  return {
    title: t`Set the limits of ${endpoint}`,
    cli: [
      [
        "shoal",
        "online-endpoint",
        "update",
        "--name",
        endpoint,
        "--set",
        ...Object.entries(values).map(([name, value]) => `${name}=${JSON.stringify(value)}`),
      ],
    ],
    api: [{ method: "PATCH", path: apiPath("endpoints", endpoint), body }],
    yaml: [
      {
        name: `${endpoint}.yml`,
        document: { name: endpoint, ...values },
        command: ["shoal", "online-endpoint", "update", "--file", `${endpoint}.yml`],
      },
    ],
  };
}

const deploymentPath = (endpoint: string, deployment: string, ...verb: string[]) =>
  apiPath("endpoints", endpoint, "deployments", deployment, ...verb);

export const restartRecipe = (endpoint: string, deployment: string): Recipe => ({
  title: t`Restart ${deployment} of ${endpoint}`,
  cli: [["shoal", "online-deployment", "restart", "-n", deployment, "-e", endpoint]],
  api: [{ method: "POST", path: deploymentPath(endpoint, deployment, "restart") }],
});

export const pauseRecipe = (endpoint: string, deployment: string, force: boolean): Recipe => ({
  title: t`Pause ${deployment} of ${endpoint}`,
  api: [{ method: "POST", path: deploymentPath(endpoint, deployment, "stop"), ...(force ? { query: { force: true } } : {}) }],
});

export const scaleRecipe = (endpoint: string, deployment: string, instances: number): Recipe => ({
  title: t`Run ${instances} of ${deployment} of ${endpoint}`,
  cli: [["shoal", "online-deployment", "update", "-n", deployment, "-e", endpoint, "--set", `instance_count=${instances}`]],
  api: [{ method: "PATCH", path: deploymentPath(endpoint, deployment), body: { instance_count: instances } }],
});

/** The command refuses a deployment that has traffic, so it is shown only for one without. */
export const deleteRecipe = (endpoint: string, deployment: string, force: boolean): Recipe => ({
  title: t`Delete ${deployment} of ${endpoint}`,
  ...(force ? {} : { cli: [["shoal", "online-deployment", "delete", "-n", deployment, "-e", endpoint]] }),
  api: [{ method: "DELETE", path: deploymentPath(endpoint, deployment), ...(force ? { query: { force: true } } : {}) }],
});

export const regenerateRecipe = (endpoint: string, kind: "primary" | "secondary"): Recipe => ({
  title: kind === "primary" ? t`Regenerate the primary key of ${endpoint}` : t`Regenerate the secondary key of ${endpoint}`,
  cli: [["shoal", "online-endpoint", "regenerate-keys", "-n", endpoint, "--key-type", kind]],
  api: [{ method: "POST", path: apiPath("endpoints", endpoint, "keys", "regenerate"), body: { key_type: kind } }],
});
