/** The roles, each with what it adds to the one before. */
import { t } from "@lingui/core/macro";
import type { Person, ProjectRole, Role } from "@/api/types";

const WORDS: Record<Role, string> = {
  member: t`Sees and changes only what is in projects of theirs`,
  viewer: t`Sees everything but keys and people`,
  invoker: t`Also sends requests from the test console`,
  deployer: t`Also changes models, endpoints, deployments, traffic and keys`,
  operator: t`Also joins, drains and removes nodes`,
  admin: t`Also manages people and storage`,
};

const ROLES = Object.keys(WORDS) as Role[];
export const ROLE_CHOICES = ROLES.map((role) => ({ value: role, label: role[0]?.toUpperCase() + role.slice(1) }));
const PROJECT_ROLES: ProjectRole[] = ["viewer", "invoker", "deployer"];
export const PROJECT_ROLE_CHOICES = PROJECT_ROLES.map((role) => ({ value: role, label: role[0]?.toUpperCase() + role.slice(1) }));
const SIGN_IN: Record<Person["sign_in"], string> = {
  password: t`password`,
  break_glass: t`host's password`,
  oidc: t`single sign-on`,
  header: t`proxy`,
  service: t`token`,
};
/** Whose password and role somebody else keeps. */
export const isKeptElsewhere = (way: Person["sign_in"]): boolean => way === "oidc" || way === "header";
export const signInWords = (way: Person["sign_in"]): string => SIGN_IN[way];
export const roleDescription = (role: Role): string => WORDS[role];
/** As it stands behind the role's name: only its first letter is small, since German writes nouns with a capital. */
export const roleDescriptionAfter = (role: Role): string => WORDS[role].charAt(0).toLowerCase() + WORDS[role].slice(1);
