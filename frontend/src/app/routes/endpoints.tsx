/** The pages of endpoints. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import {
  compareMetricsSearch,
  consoleSearch,
  consumeSearch,
  dataSearch,
  eventSearch,
  experimentSearch,
  pipelineSearch,
  listSearch,
  liveSearch,
  loadSearch,
  logSearch,
  metricsSearch,
  requestSearch,
  trafficSearch,
} from "../search";
import { app } from "./frame";

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
  validateSearch: trafficSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/deployments-tab"), "DeploymentsTab"),
});

const endpointMetrics = createRoute({
  getParentRoute: () => endpoint,
  path: "metrics",
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/metrics-tab"), "MetricsTab"),
});

const endpointPipeline = createRoute({
  getParentRoute: () => endpoint,
  path: "pipeline",
  validateSearch: pipelineSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/pipeline-tab"), "PipelineTab"),
});

const endpointExperiment = createRoute({
  getParentRoute: () => endpoint,
  path: "experiment",
  validateSearch: experimentSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/experiment-tab"), "ExperimentTab"),
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

const endpointRequests = createRoute({
  getParentRoute: () => endpoint,
  path: "requests",
  validateSearch: requestSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/requests-tab"), "RequestsTab"),
});

const endpointData = createRoute({
  getParentRoute: () => endpoint,
  path: "data",
  validateSearch: dataSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/data-tab"), "DataTab"),
});

const endpointLoad = createRoute({
  getParentRoute: () => endpoint,
  path: "load",
  validateSearch: loadSearch,
  component: lazyRouteComponent(() => import("@/features/endpoints/pages/load-tab"), "LoadTab"),
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

export const endpointRoutes = [
  endpoints,
  endpoint.addChildren([
    endpointIndex,
    endpointOverview,
    endpointDeployments,
    endpointMetrics,
    endpointPipeline,
    endpointExperiment,
    endpointTest,
    endpointConsume,
    endpointKeys,
    endpointRequests,
    endpointData,
    endpointLoad,
    endpointLogs,
    endpointEvents,
    endpointSettings,
  ]),
  compareMetrics,
] as const;
