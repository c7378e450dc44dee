/** What the signed-in person may do. The server decides; this only greys out what it would refuse. */
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "./session";
import type { Permission, Role, Session } from "./types";

/** The first role that holds it, for the sentence that says so. */
export const LOWEST: Record<Permission, Role> = {
  read: "viewer",
  account: "member",
  invoke: "invoker",
  keys: "deployer",
  deploy: "deployer",
  operate: "operator",
  "code:upload": "admin",
  administer: "admin",
};

/** No role is higher than admin. */
export const refusalText = (needed: Permission): string =>
  LOWEST[needed] === "admin" ? t`Needs the role admin` : t`Needs the role ${LOWEST[needed]} or a higher one`;

/** `held` is undefined while the session is being read: nothing is refused before it is known. */
export const refusalOf = (held: readonly Permission[] | undefined, needed: Permission): string | undefined =>
  held === undefined || held.includes(needed) ? undefined : refusalText(needed);

/** What somebody may do in the installation, or in some project: in which, the server knows. */
export const heldSomewhere = (user: Session["user"] | undefined): readonly Permission[] | undefined =>
  user ? [...user.permissions, ...user.projects.flatMap((project) => project.permissions)] : undefined;

/** Whether somebody may see the installation, and not only what is in their projects. */
export const seesInstallation = (user: Session["user"] | undefined): boolean => !user || user.permissions.includes("read");

export function useSeesInstallation(): boolean {
  const { data } = useQuery(sessionQuery());
  return seesInstallation(data?.user);
}

/** Why a button is off, for its tooltip; undefined when it may be pressed, and while the session is being read. */
export function useRefusal(needed: Permission): string | undefined {
  const { data } = useQuery(sessionQuery());
  return refusalOf(heldSomewhere(data?.user), needed);
}
