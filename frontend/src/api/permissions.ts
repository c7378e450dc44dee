/** What the signed-in person may do. The server decides; this only greys out what it would refuse. */
import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "./session";
import type { Permission, Role } from "./types";

/** The first role that holds it, for the sentence that says so. */
const LOWEST: Record<Permission, Role> = {
  read: "viewer",
  account: "viewer",
  invoke: "invoker",
  keys: "deployer",
  deploy: "deployer",
  operate: "operator",
  administer: "admin",
};

export const refusalText = (needed: Permission): string => `Needs the role ${LOWEST[needed]} or a higher one`;

/** Why a button is off, for its tooltip; undefined when it may be pressed, and while the session is being read. */
export function useRefusal(needed: Permission): string | undefined {
  const { data } = useQuery(sessionQuery());
  const held = data?.user?.permissions;
  return held === undefined || held.includes(needed) ? undefined : refusalText(needed);
}
