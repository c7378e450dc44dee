import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { LOWEST, refusalOf, seesInstallation } from "./permissions";
import type { Permission, Role } from "./types";

// The server's own stair, so that the sentence names the role that the server would let through.
const POLICY = readFileSync(fileURLToPath(new URL("../../../controlplane/accounts/policy.py", import.meta.url)), "utf8");
// What each permission is called outside: CODE = "code:upload".
const VALUES = new Map([...POLICY.matchAll(/^ {4}([A-Z]+) = "([^"]+)"/gm)].map(([, name = "", value = ""]) => [name, value as Permission]));
const STAIR = [...POLICY.matchAll(/\(Role\.([A-Z]+), frozenset\(\{([^}]*)\}\)\)/g)].map(([, role = "", more = ""]) => ({
  role: role.toLowerCase() as Role,
  more: [...more.matchAll(/Permission\.([A-Z]+)/g)].flatMap(([, name = ""]) => VALUES.get(name) ?? []),
}));
const heldBy = (role: Role): Permission[] => STAIR.slice(0, STAIR.findIndex((step) => step.role === role) + 1).flatMap((step) => step.more);

test("the lowest role of each permission is the server's", () => {
  const server = STAIR.flatMap(({ role, more }) => more.map((permission) => [permission, role]));
  expect(server).not.toEqual([]);
  expect(LOWEST).toEqual(Object.fromEntries(server));
});

/** What is greyed out for each role. */
const REFUSED: Record<Role, Permission[]> = {
  member: ["read", "invoke", "keys", "deploy", "operate", "code:upload", "administer"],
  viewer: ["invoke", "keys", "deploy", "operate", "code:upload", "administer"],
  invoker: ["keys", "deploy", "operate", "code:upload", "administer"],
  deployer: ["operate", "code:upload", "administer"],
  operator: ["code:upload", "administer"],
  admin: [],
};

test("roles in projects alone show nothing of the installation", () => {
  const inProject = { name: "vision", role: "deployer" as const, permissions: ["read" as const] };
  const user = { username: "vera", role: "member" as const, sign_in: "password" as const, second_factor: "off" as const };
  expect(seesInstallation({ ...user, permissions: ["account"], projects: [inProject] })).toBe(false);
  expect(seesInstallation({ ...user, permissions: ["account", "read"], projects: [] })).toBe(true);
  expect(seesInstallation(undefined)).toBe(true); // nothing is hidden before it is known
});

describe("refusals", () => {
  test.each(Object.entries(REFUSED) as [Role, Permission[]][])("of %s are %j", (role, refused) => {
    const all = Object.keys(LOWEST) as Permission[];
    expect(all.filter((needed) => refusalOf(heldBy(role), needed) !== undefined)).toEqual(refused);
  });
  test("name the role that may", () => expect(refusalOf(heldBy("viewer"), "keys")).toBe("Needs the role deployer or a higher one"));
  test("promise no role above the highest", () => expect(refusalOf(heldBy("operator"), "administer")).toBe("Needs the role admin"));
  test("wait for the session to be read", () => expect(refusalOf(undefined, "administer")).toBeUndefined());
});
