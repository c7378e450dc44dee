/** What one does to nodes, in the words of the command line and the REST API. */
import { apiPath } from "@/api/client";
import type { Recipe } from "@/components/as-code";

export const cordonRecipe = (name: string, verb: "cordon" | "uncordon"): Recipe => ({
  title: `${verb === "cordon" ? "Cordon" : "Uncordon"} ${name}`,
  cli: [["shoal", "node", verb, name]],
  api: [{ method: "POST", path: apiPath("nodes", name, verb) }],
});

export const removeRecipe = (name: string): Recipe => ({
  title: `Remove ${name}`,
  api: [{ method: "DELETE", path: apiPath("nodes", name) }],
});
