/** What one does to nodes, in the words of the command line and the REST API. */
import { t } from "@lingui/core/macro";
import { apiPath } from "@/api/paths";
import type { DrainRequest } from "@/api/nodes";
import type { Recipe } from "@/components/as-code";

export const cordonRecipe = (name: string, verb: "cordon" | "uncordon"): Recipe => ({
  title: verb === "cordon" ? t`Cordon ${name}` : t`Uncordon ${name}`,
  cli: [["shoal", "node", verb, name]],
  api: [{ method: "POST", path: apiPath("nodes", name, verb) }],
});

export const bulkCordonRecipe = (names: readonly string[]): Recipe => ({
  title: t`Cordon ${names.join(", ")}`,
  cli: [["shoal", "node", "cordon", ...names]],
  api: names.map((name) => ({ method: "POST", path: apiPath("nodes", name, "cordon") })),
});

/** Where a drain is asked for, and with what. */
function drainCall(names: readonly string[], options: DrainRequest) {
  const [only, ...more] = names;
  return only !== undefined && more.length === 0
    ? { path: apiPath("nodes", only, "drain"), body: options }
    : { path: apiPath("drains"), body: { ...options, nodes: names } };
}

export const drainRecipe = (names: readonly string[], options: DrainRequest): Recipe => ({
  title: t`Drain ${names.join(", ")}`,
  cli: [
    [
      "shoal",
      "node",
      "drain",
      ...names,
      ...(options.force ? ["--force"] : []),
      ...(options.deadline_s === undefined ? [] : ["--deadline", String(options.deadline_s)]),
    ],
  ],
  api: [
    { method: "POST", ...drainCall(names, { dry_run: true }), note: t`What would move, and to where` },
    { method: "POST", ...drainCall(names, options), note: t`Do it` },
  ],
});

export const joinRecipe = (): Recipe => ({
  title: t`Join a node`,
  cli: [["shoal", "node", "join"]],
  api: [{ method: "POST", path: apiPath("join-tokens") }],
});

export const labelsRecipe = (name: string, labels: Record<string, string>): Recipe => ({
  title: t`Label ${name}`,
  api: [{ method: "PATCH", path: apiPath("nodes", name), body: { labels } }],
});
