/** The pages of nodes. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { listSearch, nodeCacheSearch, nodeLogSearch } from "../search";
import { app } from "./frame";

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

export const nodeRoutes = [
  nodes,
  joinNode,
  node.addChildren([nodeIndex, nodeOverview, nodeGpus, nodeModels, nodeCache, nodeLogs]),
] as const;
