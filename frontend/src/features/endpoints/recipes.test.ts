import { expect, test } from "vitest";
import { rolloutRecipe } from "./recipes";

test("a rollout that does not ask golden cases says so in the command and in the body", () => {
  const body = { deployment: "green", steps: [{ percent: 100, hold_s: 0 }], min_requests: 200 };
  expect(rolloutRecipe("net", body).cli?.[0]).not.toContain("--without");
  const recipe = rolloutRecipe("net", { ...body, guardrails: { golden: null } });
  expect(recipe.cli?.[0]?.slice(-2)).toEqual(["--without", "golden"]);
  const compared = rolloutRecipe("net", { ...body, compare: { per_minute: 30, by: "best_class", sources: ["captured"] } });
  expect(compared.cli?.[0]?.slice(-6)).toEqual(["--compare", "30", "--compare-by", "best_class", "--compare-from", "captured"]);
  expect(recipe.api?.[0]?.body).toHaveProperty("guardrails.golden", null);
});
