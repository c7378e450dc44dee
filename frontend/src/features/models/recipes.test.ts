import { describe, expect, it } from "vitest";
import { aliasRecipe, deleteRecipe, versionRecipe, detailsRecipe } from "./recipes";

describe("actions on models as code", () => {
  it.each([
    [false, false, "archive", "archive"],
    [true, true, "restore", "restore"],
    [true, false, "restore", "archive"],
  ])("say what the menu does (version archived: %s, model archived: %s)", (versionArchived, modelArchived, one, all) => {
    const recipe = versionRecipe({ name: "a/b", version: 3, versionArchived, modelArchived });
    expect(recipe.cli?.slice(1)).toEqual([
      ["shoal", "model", one, "--name", "a/b", "--version", "3"],
      ["shoal", "model", all, "--name", "a/b"],
    ]);
    expect(recipe.api?.map(({ path }) => path)).toEqual([
      "/api/v1/models/a%2Fb/versions/3/archive.zip",
      `/api/v1/models/a%2Fb/versions/3/${one}`,
      `/api/v1/models/a%2Fb/${all}`,
    ]);
  });

  it("set and remove aliases", () =>
    expect(aliasRecipe("m", 2, "champion").api).toMatchObject([
      { method: "PUT", path: "/api/v1/models/m/aliases/champion", body: { version: "2" } },
      { method: "DELETE" },
    ]));

  it("write words: tags one by one on the command line", () => {
    const words = { description: "Two words", tags: { team: "vision", bare: "" } };
    expect(detailsRecipe("m", 2, words).cli).toEqual([
      [
        "shoal",
        "model",
        "update",
        "--name",
        "m",
        "--version",
        "2",
        "--set",
        "description=Two words",
        "--set",
        "tags.team=vision",
        "--set",
        "tags.bare=",
      ],
    ]);
    expect(detailsRecipe("m", null, words)).toMatchObject({ api: [{ method: "PATCH", path: "/api/v1/models/m", body: words }] });
    expect(detailsRecipe("m", null, words)).not.toHaveProperty("cli");
    expect(detailsRecipe("m", 2, { description: "", tags: {} })).not.toHaveProperty("cli");
  });

  it("delete, with aliases where that was asked", () => {
    expect(deleteRecipe("m", 2, true).api).toEqual([{ method: "DELETE", path: "/api/v1/models/m/versions/2", query: { force: true } }]);
    expect(deleteRecipe("m", null).api).toEqual([{ method: "DELETE", path: "/api/v1/models/m" }]);
  });
});
