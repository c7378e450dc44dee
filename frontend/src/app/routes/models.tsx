/** The pages of models, of their versions, and of the environments that scripts run in. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { compareSearch, configSearch, environmentSearch, environmentsSearch, filesSearch, modelsSearch, repoModelSearch } from "../search";
import { app } from "./frame";

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

const environments = createRoute({
  getParentRoute: () => app,
  path: "/environments",
  validateSearch: environmentsSearch,
  component: lazyRouteComponent(() => import("@/features/models/pages/environments-page"), "EnvironmentsPage"),
});

const environment = createRoute({
  getParentRoute: () => app,
  path: "/environments/$name",
  validateSearch: environmentSearch,
  component: lazyRouteComponent(() => import("@/features/models/pages/environment-page"), "EnvironmentPage"),
});

export const modelRoutes = [
  models,
  environments,
  environment,
  model,
  modelVersion.addChildren([versionIndex, versionOverview, versionConfig, versionFiles, versionCompare, versionUsage, versionActivity]),
] as const;
