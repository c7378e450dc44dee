/** The roles, each with what it adds to the one before. */
import type { Role } from "@/api/types";

const WORDS: Record<Role, string> = {
  viewer: "Sees everything but keys and people",
  invoker: "Also sends requests from the test console",
  deployer: "Also changes models, endpoints, deployments, traffic and keys",
  operator: "Also joins, drains and removes nodes",
  admin: "Also manages people and storage",
};

const ROLES = Object.keys(WORDS) as Role[];
export const ROLE_CHOICES = ROLES.map((role) => ({ value: role, label: role[0]?.toUpperCase() + role.slice(1) }));
export const roleDescription = (role: Role): string => WORDS[role];
