/** Search parameters: unknown or bad values fall back to the default, so that an old link still opens. */
import { isWhen } from "@/components/when";
import { ALERT_TABS } from "./paths";
import { parseRange } from "./time-range";

type Raw = Record<string, unknown>;

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;

/** Unix seconds. */
const moment = (value: unknown): number | undefined => {
  const number = typeof value === "number" ? value : typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isFinite(number) && number > 0 ? number : undefined;
};

const positive = (value: unknown): number | undefined => {
  const number = typeof value === "number" ? value : typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isInteger(number) && number > 0 ? number : undefined;
};

const oneOf = <T extends string>(value: unknown, allowed: readonly T[]): T | undefined => allowed.find((option) => option === value);

/** Drops keys without a value, so that the URL stays short. */
function compact<T extends Record<string, unknown>>(search: T): Partial<{ [K in keyof T]: Exclude<T[K], undefined> }> {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as Partial<{
    [K in keyof T]: Exclude<T[K], undefined>;
  }>;
}

export const RANGES = ["1m", "5m", "15m"] as const;
export type Range = (typeof RANGES)[number];
export const RANGE_SECONDS: Record<Range, number> = { "1m": 60, "5m": 300, "15m": 900 };

export const DEPLOY_STEPS = ["upload", "inspect", "configure", "placement", "deploy"] as const;
export type WizardStep = (typeof DEPLOY_STEPS)[number];

export const deploySearch = (raw: Raw) =>
  compact({
    draft: text(raw["draft"]),
    step: oneOf(raw["step"], DEPLOY_STEPS),
    model: text(raw["model"]),
    version: positive(raw["version"]),
    endpoint: text(raw["endpoint"]),
    deployment: text(raw["deployment"]),
    /** A line of config.pbtxt to look at first, and the repository model whose text it is. */
    line: positive(raw["line"]),
    repo: text(raw["repo"]),
  });

export const listSearch = (raw: Raw) => compact({ q: text(raw["q"]), status: text(raw["status"]), sort: text(raw["sort"]) });
const ARCHIVED = ["archived", "all"] as const;
export const MODEL_ORDERS = ["name", "-name", "updated", "-updated", "version", "-version"] as const;
export const modelsSearch = (raw: Raw) =>
  compact({
    q: text(raw["q"]),
    backend: text(raw["backend"]),
    deployed: oneOf(raw["deployed"], ["yes", "no"] as const),
    /** `team=vision`. */
    tag: text(raw["tag"]),
    archived: oneOf(raw["archived"], ARCHIVED),
    sort: oneOf(raw["sort"], MODEL_ORDERS),
    cursor: text(raw["cursor"]),
    page: positive(raw["page"]),
  });
export const environmentsSearch = (raw: Raw) => compact({ q: text(raw["q"]), archived: oneOf(raw["archived"], ARCHIVED) });
export const environmentSearch = (raw: Raw) => compact({ version: positive(raw["version"]) });
/** A model of the version's repository. */
export const repoModelSearch = (raw: Raw) => compact({ of: text(raw["of"]) });
export const configSearch = (raw: Raw) =>
  compact({ of: text(raw["of"]), revision: raw["revision"] === 0 || raw["revision"] === "0" ? 0 : positive(raw["revision"]) });
export const filesSearch = (raw: Raw) => compact({ path: text(raw["path"]) });
export const compareSearch = (raw: Raw) => compact({ with: positive(raw["with"]) });
export const liveSearch = (raw: Raw) => compact({ range: oneOf(raw["range"], RANGES), dep: text(raw["dep"]) });
/** Metrics: how far back, of which deployment and node, and which groups of panels are folded. */
export const metricsSearch = (raw: Raw) => {
  const range = text(raw["range"]);
  return compact({
    range: parseRange(range) ? range : undefined,
    dep: text(raw["dep"]),
    node: text(raw["node"]),
    per: oneOf(raw["per"], ["replica"] as const),
    closed: text(raw["closed"]),
  });
};
/** Several things side by side: what kind, which, how far back, which panels. */
export const compareMetricsSearch = (raw: Raw) => {
  const range = text(raw["range"]);
  return compact({
    by: oneOf(raw["by"], ["deployment", "endpoint", "model", "node"] as const),
    ids: text(raw["ids"]),
    range: parseRange(range) ? range : undefined,
    panels: text(raw["panels"]),
  });
};
export const logSearch = (raw: Raw) => {
  const range = text(raw["range"]);
  return compact({
    dep: text(raw["dep"]),
    replica: text(raw["replica"]),
    stream: oneOf(raw["stream"], ["inference-server", "storage-initializer"] as const),
    level: oneOf(raw["level"], ["warn", "error"] as const),
    line: positive(raw["line"]),
    wrap: oneOf(raw["wrap"], ["off"] as const),
    q: text(raw["q"]),
    range: parseRange(range)?.kind === "fixed" ? range : undefined,
  });
};
export const consumeSearch = (raw: Raw) =>
  compact({
    as: oneOf(raw["as"], ["curl", "python_requests", "python_http", "python_grpc", "grpcurl", "javascript"] as const),
    input: oneOf(raw["input"], ["last"] as const),
  });
export const loadSearch = (raw: Raw) =>
  compact({
    dep: text(raw["dep"]),
    lab: oneOf(raw["lab"], ["tune"] as const),
    sweep: text(raw["sweep"]),
    beside: text(raw["beside"]),
    tuning: text(raw["tuning"]),
  });
export const DATA_HOURS = [1, 24, 168] as const;
export const dataSearch = (raw: Raw) =>
  compact({ dep: text(raw["dep"]), hours: DATA_HOURS.find((hours) => hours === positive(raw["hours"])) });
export const trafficSearch = (raw: Raw) => compact({ give: text(raw["give"]), share: positive(raw["share"]) });
export const consoleSearch = (raw: Raw) =>
  compact({
    endpoint: text(raw["endpoint"]),
    dep: text(raw["dep"]),
    model: text(raw["model"]),
    preset: text(raw["preset"]),
    captured: text(raw["captured"]),
    at: moment(raw["at"]),
  });
export const requestSearch = (raw: Raw) => compact({ view: oneOf(raw["view"], ["slowest", "failed"] as const), id: text(raw["id"]) });
export const experimentSearch = (raw: Raw) =>
  compact({ range: oneOf(raw["range"], ["15m", "6h", "24h"] as const), baseline: text(raw["baseline"]) });
/** The pipeline of a deployment, and which of its ensembles is drawn. */
export const pipelineSearch = (raw: Raw) => compact({ dep: text(raw["dep"]), of: text(raw["of"]) });
export const eventSearch = (raw: Raw) => compact({ kind: text(raw["kind"]), event: positive(raw["event"]) });
export const usersSearch = (raw: Raw) => compact({ q: text(raw["q"]) });
export const nodeCacheSearch = (raw: Raw) => compact({ q: text(raw["q"]) });
export const nodeLogSearch = (raw: Raw) => compact({ replica: text(raw["replica"]), q: text(raw["q"]) });
const when = (value: unknown): string | undefined => {
  const asked = text(value);
  return isWhen(asked) ? asked : undefined;
};
export const OPERATION_STATES = ["Queued", "Running", "Succeeded", "Failed", "Canceled"] as const;
export const OPERATION_KINDS = ["deploy", "scale", "delete-deployment", "delete-endpoint"] as const;
export const operationsSearch = (raw: Raw) =>
  compact({
    q: text(raw["q"]),
    status: oneOf(raw["status"], OPERATION_STATES),
    kind: oneOf(raw["kind"], OPERATION_KINDS),
    actor: text(raw["actor"]),
    when: when(raw["when"]),
  });
const SEVERITIES = ["info", "warning", "error"] as const;
/** Messages to people link here: one alert, or the runbook of a rule. */
export const alertsSearch = (raw: Raw) =>
  compact({ tab: oneOf(raw["tab"], ALERT_TABS), alert: text(raw["alert"]), rule: text(raw["rule"]) });
export const activitySearch = (raw: Raw) =>
  compact({
    q: text(raw["q"]),
    subject: text(raw["subject"]),
    actor: text(raw["actor"]),
    kind: text(raw["kind"]),
    severity: oneOf(raw["severity"], SEVERITIES),
    when: when(raw["when"]),
    event: positive(raw["event"]),
  });
export const loginSearch = (raw: Raw) => compact({ next: text(raw["next"]), error: text(raw["error"]) });
