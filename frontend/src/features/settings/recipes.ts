/** What one does in the settings, as REST calls; the command line has no words for these. */
import { apiPath } from "@/api/client";
import type { NewToken } from "@/api/session";
import type { InstanceTypeInput, Role } from "@/api/types";
import type { Recipe } from "@/components/as-code";

export const tokenRecipe = (body: NewToken): Recipe => ({
  title: "Make an API token",
  api: [{ method: "POST", path: apiPath("tokens"), body }],
});

export const userRecipe = (username: string, role: Role): Recipe => ({
  title: `Add ${username}`,
  api: [{ method: "POST", path: apiPath("users"), body: { username, role } }],
});

export const collectRecipe = (): Recipe => ({
  title: "Remove unused files",
  api: [{ method: "POST", path: apiPath("storage", "collect") }],
});

export const instanceTypeRecipe = (body: InstanceTypeInput, exists: boolean): Recipe => {
  const { name, ...rest } = body;
  return {
    title: exists ? `Change ${name}` : `Add the instance type ${name}`,
    api: exists
      ? [{ method: "PATCH", path: apiPath("instance-types", name), body: rest }]
      : [{ method: "POST", path: apiPath("instance-types"), body }],
  };
};
