/** The outermost frame: nothing but the page. */
import { Outlet } from "@tanstack/react-router";

export function RootLayout() {
  return <Outlet />;
}
