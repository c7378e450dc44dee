/** Placeholder of the shell. */
import { Outlet } from "@tanstack/react-router";

export function Shell() {
  return <Outlet />;
}
