import { describe, expect, it } from "vitest";
import { activeRecipe, memberRecipe, passwordRecipe, projectRecipe, revokeTokenRecipe, roleRecipe, userRecipe } from "./recipes";

describe("what an administrator does to people, as code", () => {
  it.each([
    [userRecipe("lena", "deployer"), "shoal user add lena --role deployer", "POST", "/api/v1/users"],
    [roleRecipe("lena", "operator"), "shoal user update lena --role operator", "PATCH", "/api/v1/users/lena"],
    [activeRecipe("lena", false), "shoal user update lena --inactive", "PATCH", "/api/v1/users/lena"],
    [activeRecipe("lena", true), "shoal user update lena --active", "PATCH", "/api/v1/users/lena"],
    [
      memberRecipe("vision", "lena", "deployer"),
      "shoal project add-member vision lena --role deployer",
      "PUT",
      "/api/v1/projects/vision/members/lena",
    ],
    [
      projectRecipe("vision", { max_gpus: 4, max_bytes: null }, false),
      "shoal project create vision --max-gpus 4",
      "POST",
      "/api/v1/projects",
    ],
    [
      projectRecipe("vision", { max_gpus: null }, true),
      "shoal project update vision --max-replicas none --max-gpus none --max-bytes none",
      "PATCH",
      "/api/v1/projects/vision",
    ],
    [passwordRecipe("lena"), "shoal user reset-password lena", "POST", "/api/v1/users/lena/password"],
  ])("$title", (recipe, command, method, path) => {
    expect(recipe.cli?.map((words) => words.join(" "))).toEqual([command]);
    expect(recipe.api).toMatchObject([{ method, path }]);
  });

  it("revokes a token by its number; the command line has no word for it", () => {
    const recipe = revokeTokenRecipe({ id: 7, name: "ci" });
    expect(recipe).toEqual({ title: "Revoke ci", api: [{ method: "DELETE", path: "/api/v1/tokens/7" }] });
  });
});
