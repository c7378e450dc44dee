/** The map of the studio: thin lazy routes, typed search parameters. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { sessionQuery } from "@/api/session";
import { NotFoundPage } from "./layouts/not-found";
import { PageError } from "./layouts/page-error";
import { RootLayout } from "./layouts/root";
import { Shell } from "./layouts/shell";
import {
  activitySearch,
  compareMetricsSearch,
  compareSearch,
  configSearch,
  consoleSearch,
  consumeSearch,
  deploySearch,
  eventSearch,
  filesSearch,
  listSearch,
  liveSearch,
  logSearch,
  loginSearch,
  metricsSearch,
  nodeCacheSearch,
  nodeLogSearch,
  operationsSearch,
  modelsSearch,
  repoModelSearch,
  usersSearch,
} from "./search";

interface RouterContext {
  queryClient: QueryClient;
}

const root = createRootRouteWithContext<RouterContext>()({ component: RootLayout });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: loginSearch,
  component: lazyRouteComponent(() => import("@/features/session/pages/login-page"), "LoginPage"),
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("@/features/session/pages/setup-page"), "SetupPage"),
});

/** Everything behind the sign-in. A server that cannot be reached is shown, not taken for "signed out". */
const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery());
    if (!session.authenticated) {
      throw redirect({ to: "/login", search: location.href === "/" ? {} : { next: location.href } });
    }
  },
  errorComponent: PageError,
  notFoundComponent: NotFoundPage,
});

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

const models = createRoute({
  getParentRoute: () => app,
  path: "/models",
  validateSearch: modelsSearch,
  component: lazyRouteComponent(() => import("@/features/models/pages/models-page"), "ModelsPage"),
});
const model = createRoute({
  getParentRoute: () => app,
  path: "/models/$name",
  component: lazyRouteComponent(() => import("@/features/models/pages/model-page"), "ModelPage"),
});
const modelVersion = createRoute({
  getParentRoute: () => app,
  path: "/models/$name/versions/$version",
  component: lazyRouteComponent(() => import("@/features/models/pages/version-layout"), "VersionLayout"),
});
const versionIndex = createRoute({
  getParentRoute: () => modelVersion,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/models/$name/versions/$version/overview", params, replace: true });
  },
});
const versionOverview = createRoute({
  getParentRoute: () => modelVersion,
  path: "overview",
  validateSearch: repoModelSearch,
  component: lazyRouteComponent(() => import("@/features/models/pages/overview-tab"), "OverviewTab"),
});
const versionConfig = createRoute({
  getParentRoute: () => modelVersion,
  path: "config",
  validateSearch: configSearch,
  component: lazyRouteComponent(() => import("@/features/deploy/revisions/config-tab"), "ConfigTab"),
});
const versionFiles = createRoute({
  getParentRoute: () => modelVersion,
  path: "files",
  validateSearch: filesSearch,
  component: lazyRouteComponent(() => import("@/features/models/pages/files-tab"), "FilesTab"),
});
const versionCompare = createRoute({
  getParentRoute: () => modelVersion,
  path: "compare",
  validateSearch: compareSearch,
  component: lazyRouteComponent(() => import("@/features/models/pages/compare-tab"), "CompareTab"),
});
const versionUsage = createRoute({
  getParentRoute: () => modelVersion,
  path: "usage",
  component: lazyRouteComponent(() => import("@/features/models/pages/usage-tab"), "UsageTab"),
});
const versionActivity = createRoute({
  getParentRoute: () => modelVersion,
  path: "activity",
  component: lazyRouteComponent(() => import("@/features/models/pages/activity-tab"), "ActivityTab"),
});

const endpoints = createRoute({
  getParentRoute: () => app,
  path: "/endpoints",
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/endpoints-page"), "EndpointsPage"),
});
const endpoint = createRoute({
  getParentRoute: () => app,
  path: "/endpoints/$name",
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/endpoint-layout"), "EndpointLayout"),
});
const endpointIndex = createRoute({
  getParentRoute: () => endpoint,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/endpoints/$name/overview", params, replace: true });
  },
});
const endpointOverview = createRoute({
  getParentRoute: () => endpoint,
  path: "overview",
  validateSearch: liveSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/overview-tab"), "OverviewTab"),
});
const endpointDeployments = createRoute({
  getParentRoute: () => endpoint,
  path: "deployments",
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/deployments-tab"), "DeploymentsTab"),
});
const endpointMetrics = createRoute({
  getParentRoute: () => endpoint,
  path: "metrics",
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/metrics-tab"), "MetricsTab"),
});
const endpointTest = createRoute({
  getParentRoute: () => endpoint,
  path: "test",
  validateSearch: consoleSearch,
  component: lazyRouteComponent(() => import("@/features/console/pages/console-page"), "ConsolePage"),
});
const endpointConsume = createRoute({
  getParentRoute: () => endpoint,
  path: "consume",
  validateSearch: consumeSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/consume-tab"), "ConsumeTab"),
});
const endpointKeys = createRoute({
  getParentRoute: () => endpoint,
  path: "keys",
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/keys-tab"), "KeysTab"),
});
const endpointLogs = createRoute({
  getParentRoute: () => endpoint,
  path: "logs",
  validateSearch: logSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/logs-tab"), "LogsTab"),
});
const endpointEvents = createRoute({
  getParentRoute: () => endpoint,
  path: "events",
  validateSearch: eventSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/events-tab"), "EventsTab"),
});
const endpointSettings = createRoute({
  getParentRoute: () => endpoint,
  path: "settings",
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/settings-tab"), "SettingsTab"),
});

const compareMetrics = createRoute({
  getParentRoute: () => app,
  path: "/metrics",
  validateSearch: compareMetricsSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/compare/compare-page"), "ComparePage"),
});

const test = createRoute({
  getParentRoute: () => app,
  path: "/test",
  validateSearch: consoleSearch,
  component: lazyRouteComponent(() => import("@/features/console/pages/console-page"), "ConsolePage"),
});

const nodes = createRoute({
  getParentRoute: () => app,
  path: "/nodes",
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import("@/features/nodes/pages/nodes-page"), "NodesPage"),
});
const joinNode = createRoute({
  getParentRoute: () => app,
  path: "/nodes/join",
  component: lazyRouteComponent(() => import("@/features/nodes/pages/join-page"), "JoinPage"),
});
const node = createRoute({
  getParentRoute: () => app,
  path: "/nodes/$name",
  component: lazyRouteComponent(() => import("@/features/nodes/pages/node-layout"), "NodeLayout"),
});
const nodeIndex = createRoute({
  getParentRoute: () => node,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/nodes/$name/overview", params, replace: true });
  },
});
const nodeOverview = createRoute({
  getParentRoute: () => node,
  path: "overview",
  component: lazyRouteComponent(() => import("@/features/nodes/pages/node-overview-tab"), "NodeOverviewTab"),
});
const nodeGpus = createRoute({
  getParentRoute: () => node,
  path: "gpus",
  component: lazyRouteComponent(() => import("@/features/nodes/pages/node-gpus-tab"), "NodeGpusTab"),
});
const nodeModels = createRoute({
  getParentRoute: () => node,
  path: "models",
  component: lazyRouteComponent(() => import("@/features/nodes/pages/node-models-tab"), "NodeModelsTab"),
});
const nodeCache = createRoute({
  getParentRoute: () => node,
  path: "cache",
  validateSearch: nodeCacheSearch,
  component: lazyRouteComponent(() => import("@/features/nodes/pages/node-cache-tab"), "NodeCacheTab"),
});
const nodeLogs = createRoute({
  getParentRoute: () => node,
  path: "logs",
  validateSearch: nodeLogSearch,
  component: lazyRouteComponent(() => import("@/features/nodes/pages/node-logs-tab"), "NodeLogsTab"),
});

const operations = createRoute({
  getParentRoute: () => app,
  path: "/operations",
  validateSearch: operationsSearch,
  component: lazyRouteComponent(() => import("@/features/operations/pages/operations-page"), "OperationsPage"),
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

const settings = createRoute({
  getParentRoute: () => app,
  path: "/settings",
  component: lazyRouteComponent(() => import("@/features/settings/pages/settings-layout"), "SettingsLayout"),
});
const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/settings/profile", replace: true });
  },
});
const settingsProfile = createRoute({
  getParentRoute: () => settings,
  path: "profile",
  component: lazyRouteComponent(() => import("@/features/settings/pages/profile-page"), "ProfilePage"),
});
const settingsTokens = createRoute({
  getParentRoute: () => settings,
  path: "tokens",
  component: lazyRouteComponent(() => import("@/features/settings/pages/tokens-page"), "TokensPage"),
});
const settingsUsers = createRoute({
  getParentRoute: () => settings,
  path: "users",
  validateSearch: usersSearch,
  component: lazyRouteComponent(() => import("@/features/settings/pages/users-page"), "UsersPage"),
});
const settingsInstanceTypes = createRoute({
  getParentRoute: () => settings,
  path: "instance-types",
  component: lazyRouteComponent(() => import("@/features/settings/pages/instance-types-page"), "InstanceTypesPage"),
});
const settingsStorage = createRoute({
  getParentRoute: () => settings,
  path: "storage",
  component: lazyRouteComponent(() => import("@/features/settings/pages/storage-page"), "StoragePage"),
});
const settingsAbout = createRoute({
  getParentRoute: () => settings,
  path: "about",
  component: lazyRouteComponent(() => import("@/features/settings/pages/about-page"), "AboutPage"),
});

/** Whatever no other route takes: a page of the frame like any other, also for deeper addresses (`/endpoints/x/nothing`). */
const missing = createRoute({ getParentRoute: () => app, path: "$", component: NotFoundPage });

const routeTree = root.addChildren([
  login,
  setup,
  app.addChildren([
    overview,
    deployNew,
    deployOne,
    models,
    model,
    modelVersion.addChildren([versionIndex, versionOverview, versionConfig, versionFiles, versionCompare, versionUsage, versionActivity]),
    endpoints,
    endpoint.addChildren([
      endpointIndex,
      endpointOverview,
      endpointDeployments,
      endpointMetrics,
      endpointTest,
      endpointConsume,
      endpointKeys,
      endpointLogs,
      endpointEvents,
      endpointSettings,
    ]),
    compareMetrics,
    test,
    nodes,
    joinNode,
    node.addChildren([nodeIndex, nodeOverview, nodeGpus, nodeModels, nodeCache, nodeLogs]),
    operations,
    activity,
    system,
    settings.addChildren([
      settingsIndex,
      settingsProfile,
      settingsTokens,
      settingsUsers,
      settingsInstanceTypes,
      settingsStorage,
      settingsAbout,
    ]),
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
