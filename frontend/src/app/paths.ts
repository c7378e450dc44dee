/**
 * Every link of the studio: `<Link {...paths.endpoint("digits")}>`. Names travel as parameters, never inside a path
 * string, so that dots, slashes and colons are escaped by the router.
 */
const ENDPOINT_TABS = [
  "overview",
  "deployments",
  "metrics",
  "pipeline",
  "experiment",
  "test",
  "consume",
  "keys",
  "requests",
  "load",
  "data",
  "logs",
  "events",
  "settings",
] as const;
export type EndpointTab = (typeof ENDPOINT_TABS)[number];

const NODE_TABS = ["overview", "gpus", "models", "cache", "logs"] as const;
export type NodeTab = (typeof NODE_TABS)[number];
export const MODEL_TABS = ["overview", "config", "files", "compare", "usage", "activity"] as const;
export type ModelTab = (typeof MODEL_TABS)[number];

export const ALERT_TABS = ["active", "history", "silences", "channels", "rules"] as const;
export type AlertTab = (typeof ALERT_TABS)[number];

export const paths = {
  overview: () => ({ to: "/" }) as const,
  login: (next?: string) => ({ to: "/login", search: next ? { next } : {} }) as const,
  deploy: (search: { draft?: string; model?: string; version?: number; endpoint?: string; deployment?: string } = {}) =>
    ({ to: "/deploy/new", search }) as const,
  operation: (id: string) => ({ to: "/deploy/$id", params: { id } }) as const,
  models: () => ({ to: "/models" }) as const,
  model: (name: string) => ({ to: "/models/$name", params: { name } }) as const,
  modelVersion: (name: string, version: number) =>
    ({ to: "/models/$name/versions/$version", params: { name, version: String(version) } }) as const,
  modelTab: <T extends ModelTab>(name: string, version: number, tab: T) =>
    ({ to: `/models/$name/versions/$version/${tab}` as const, params: { name, version: String(version) } }) as const,
  environments: () => ({ to: "/environments" }) as const,
  environment: (name: string, version?: number) =>
    ({ to: "/environments/$name", params: { name }, search: version === undefined ? {} : { version } }) as const,
  endpoints: () => ({ to: "/endpoints" }) as const,
  endpoint: (name: string) => ({ to: "/endpoints/$name/overview", params: { name } }) as const,
  endpointTab: <T extends EndpointTab>(name: string, tab: T) => ({ to: `/endpoints/$name/${tab}` as const, params: { name } }) as const,
  /** Asks whether a deployment shall have that share of the traffic. */
  endpointTraffic: (name: string, give: string, share: number) =>
    ({ to: "/endpoints/$name/deployments", params: { name }, search: { give, share } }) as const,
  endpointRequest: (name: string, id: string) => ({ to: "/endpoints/$name/requests", params: { name }, search: { id } }) as const,
  endpointLogs: (name: string, deployment?: string, replica?: string) =>
    ({
      to: "/endpoints/$name/logs",
      params: { name },
      search: { ...(deployment ? { dep: deployment } : {}), ...(replica ? { replica } : {}) },
    }) as const,
  /** The console, with what a captured request sent. */
  endpointReplay: (name: string, dep: string, captured: string, at: number) =>
    ({ to: "/endpoints/$name/test", params: { name }, search: { dep, captured, at } }) as const,
  compareMetrics: (search: { by?: "deployment" | "endpoint" | "model" | "node"; ids?: string } = {}) =>
    ({ to: "/metrics", search }) as const,
  test: (endpoint?: string) => ({ to: "/test", search: endpoint ? { endpoint } : {} }) as const,
  nodes: () => ({ to: "/nodes" }) as const,
  node: (name: string) => ({ to: "/nodes/$name/overview", params: { name } }) as const,
  nodeTab: <T extends NodeTab>(name: string, tab: T) => ({ to: `/nodes/$name/${tab}` as const, params: { name } }) as const,
  joinNode: () => ({ to: "/nodes/join" }) as const,
  capacity: () => ({ to: "/capacity" }) as const,
  operations: () => ({ to: "/operations" }) as const,
  alerts: (search: { tab?: AlertTab; alert?: string; rule?: string } = {}) => ({ to: "/alerts", search }) as const,
  activity: (search: { subject?: string; event?: number; q?: string } = {}) => ({ to: "/activity", search }) as const,
  system: () => ({ to: "/system" }) as const,
  settings: () => ({ to: "/settings/profile" }) as const,
  serviceAccounts: () => ({ to: "/settings/service-accounts" }) as const,
  users: () => ({ to: "/settings/users" }) as const,
  projects: () => ({ to: "/settings/projects" }) as const,
  instanceTypes: () => ({ to: "/settings/instance-types" }) as const,
  prices: () => ({ to: "/settings/prices" }) as const,
  storage: () => ({ to: "/settings/storage" }) as const,
  tokens: () => ({ to: "/settings/tokens" }) as const,
  about: () => ({ to: "/settings/about" }) as const,
};
