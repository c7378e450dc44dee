/** What one does in the settings, as commands and REST calls; the command line has no words for tokens, types and files. */
import { t } from "@lingui/core/macro";
import { apiPath } from "@/api/paths";
import type { NewToken } from "@/api/session";
import type { ApiToken, InstanceTypeInput, ProjectChange, ProjectRole, Role } from "@/api/types";
import type { Recipe } from "@/components/as-code";

export const tokenRecipe = (body: NewToken): Recipe => ({
  title: t`Make an API token`,
  api: [{ method: "POST", path: apiPath("tokens"), body }],
});

export const revokeTokenRecipe = (token: Pick<ApiToken, "id" | "name">): Recipe => ({
  title: t`Revoke ${token.name}`,
  api: [{ method: "DELETE", path: apiPath("tokens", token.id) }],
});

export const userRecipe = (username: string, role: Role): Recipe => ({
  title: t`Add ${username}`,
  cli: [["shoal", "user", "add", username, "--role", role]],
  api: [{ method: "POST", path: apiPath("users"), body: { username, role } }],
});

export const roleRecipe = (username: string, role: Role): Recipe => ({
  title: t`Make ${username} ${role}`,
  cli: [["shoal", "user", "update", username, "--role", role]],
  api: [{ method: "PATCH", path: apiPath("users", username), body: { role } }],
});

export const activeRecipe = (username: string, active: boolean): Recipe => ({
  title: active ? t`Activate ${username}` : t`Deactivate ${username}`,
  cli: [["shoal", "user", "update", username, active ? "--active" : "--inactive"]],
  api: [{ method: "PATCH", path: apiPath("users", username), body: { active } }],
});

export const passwordRecipe = (username: string): Recipe => ({
  title: t`Give ${username} a new password`,
  cli: [["shoal", "user", "reset-password", username]],
  api: [{ method: "POST", path: apiPath("users", username, "password") }],
});

export const secondFactorRecipe = (username: string): Recipe => ({
  title: t`Reset the second factor of ${username}`,
  cli: [["shoal", "user", "reset-second-factor", username]],
  api: [{ method: "DELETE", path: apiPath("users", username, "second-factor") }],
});

export const projectRecipe = (name: string, body: ProjectChange, exists: boolean): Recipe => {
  const limit = (option: string, value: number | null | undefined) =>
    value === null || value === undefined ? (exists ? [option, "none"] : []) : [option, String(value)];
  const options = [
    ...(body.display_name ? ["--display-name", body.display_name] : []),
    ...limit("--max-replicas", body.max_replicas),
    ...limit("--max-gpus", body.max_gpus),
    ...limit("--max-bytes", body.max_bytes),
  ];
  return {
    title: exists ? t`Change ${name}` : t`Add the project ${name}`,
    cli: [["shoal", "project", exists ? "update" : "create", name, ...options]],
    api: exists
      ? [{ method: "PATCH", path: apiPath("projects", name), body }]
      : [{ method: "POST", path: apiPath("projects"), body: { name, ...body } }],
  };
};

export const memberRecipe = (project: string, username: string, role: ProjectRole): Recipe => ({
  title: t`Make ${username} ${role} in ${project}`,
  cli: [["shoal", "project", "add-member", project, username, "--role", role]],
  api: [{ method: "PUT", path: apiPath("projects", project, "members", username), body: { role } }],
});

export const collectRecipe = (): Recipe => ({
  title: t`Remove unused files`,
  api: [{ method: "POST", path: apiPath("storage", "collect") }],
});

export const instanceTypeRecipe = (body: InstanceTypeInput, exists: boolean): Recipe => {
  const { name, ...rest } = body;
  return {
    title: exists ? t`Change ${name}` : t`Add the instance type ${name}`,
    api: exists
      ? [{ method: "PATCH", path: apiPath("instance-types", name), body: rest }]
      : [{ method: "POST", path: apiPath("instance-types"), body }],
  };
};
