/** The map of the studio: thin lazy routes, typed search parameters. */
import type { QueryClient } from "@tanstack/react-query";
import { createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { PageError } from "./layouts/page-error";
import { activitySearch, alertsSearch, consoleSearch, deploySearch, operationsSearch } from "./search";
import { endpointRoutes } from "./routes/endpoints";
import { app, login, missing, root, secondFactor, setup } from "./routes/frame";
import { modelRoutes } from "./routes/models";
import { nodeRoutes } from "./routes/nodes";
import { settingsRoutes } from "./routes/settings";

const overview = createRoute({
  getParentRoute: () => app,
  path: "/",
  component: lazyRouteComponent(() => import("@/features/overview/pages/overview-page"), "OverviewPage"),
});

const deployNew = createRoute({
  getParentRoute: () => app,
  path: "/deploy/new",
  validateSearch: deploySearch,
  component: lazyRouteComponent(() => import("@/features/deploy/pages/deploy-page"), "DeployPage"),
});

const deployOne = createRoute({
  getParentRoute: () => app,
  path: "/deploy/$id",
  component: lazyRouteComponent(() => import("@/features/deploy/pages/operation-page"), "OperationPage"),
});

const test = createRoute({
  getParentRoute: () => app,
  path: "/test",
  validateSearch: consoleSearch,
  component: lazyRouteComponent(() => import("@/features/console/pages/console-page"), "ConsolePage"),
});

const capacity = createRoute({
  getParentRoute: () => app,
  path: "/capacity",
  component: lazyRouteComponent(() => import("@/features/capacity/pages/capacity-page"), "CapacityPage"),
});

const operations = createRoute({
  getParentRoute: () => app,
  path: "/operations",
  validateSearch: operationsSearch,
  component: lazyRouteComponent(() => import("@/features/operations/pages/operations-page"), "OperationsPage"),
});

const alerts = createRoute({
  getParentRoute: () => app,
  path: "/alerts",
  validateSearch: alertsSearch,
  component: lazyRouteComponent(() => import("@/features/alerts/pages/alerts-page"), "AlertsPage"),
});

const activity = createRoute({
  getParentRoute: () => app,
  path: "/activity",
  validateSearch: activitySearch,
  component: lazyRouteComponent(() => import("@/features/activity/pages/activity-page"), "ActivityPage"),
});

const system = createRoute({
  getParentRoute: () => app,
  path: "/system",
  component: lazyRouteComponent(() => import("@/features/system/pages/system-page"), "SystemPage"),
});

const routeTree = root.addChildren([
  login,
  secondFactor,
  setup,
  app.addChildren([
    overview,
    deployNew,
    deployOne,
    ...modelRoutes,
    ...endpointRoutes,
    test,
    ...nodeRoutes,
    capacity,
    operations,
    alerts,
    activity,
    system,
    ...settingsRoutes,
    missing,
  ]),
]);

export function makeRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: "intent",
    defaultPreloadStaleTime: 0,
    defaultErrorComponent: PageError,
    defaultPendingMs: 150,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
