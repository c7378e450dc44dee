/** What every page stands in: the root, the sign-in, and the frame behind it. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { sessionQuery } from "@/api/session";
import { NotFoundPage } from "../layouts/not-found";
import { PageError } from "../layouts/page-error";
import { RootLayout } from "../layouts/root";
import { Shell } from "../layouts/shell";
import { loginSearch } from "../search";

interface RouterContext {
  queryClient: QueryClient;
}

export const root = createRootRouteWithContext<RouterContext>()({ component: RootLayout });

export const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: loginSearch,
  component: lazyRouteComponent(() => import("@/features/session/pages/login-page"), "LoginPage"),
});

export const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("@/features/session/pages/setup-page"), "SetupPage"),
});

export const secondFactor = createRoute({
  getParentRoute: () => root,
  path: "/second-factor",
  component: lazyRouteComponent(() => import("@/features/session/pages/second-factor-page"), "SecondFactorPage"),
});

/** Everything behind the sign-in. A server that cannot be reached is shown, not taken for "signed out". */
export const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery());
    if (!session.authenticated) {
      throw redirect({ to: "/login", search: location.href === "/" ? {} : { next: location.href } });
    }
    if (session.user?.second_factor === "missing") throw redirect({ to: "/second-factor" });
  },
  errorComponent: PageError,
  notFoundComponent: NotFoundPage,
});

/** Whatever no other route takes: a page of the frame like any other, also for deeper addresses (`/endpoints/x/nothing`). */
export const missing = createRoute({ getParentRoute: () => app, path: "$", component: NotFoundPage });
