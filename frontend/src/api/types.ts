/** The shapes of `/api/v1`: times are RFC 3339 UTC strings, sizes are bytes, `*_us` are microseconds. */

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export type Role = "viewer" | "deployer" | "admin";

export interface Session {
  authenticated: boolean;
  user: { username: string; role: Role } | null;
  csrf_token: string;
  version: string;
}

export interface ApiToken {
  id: number;
  name: string;
  prefix: string;
  created_at: string;
  last_used_at: string | null;
}

export interface ApiTokenCreated extends ApiToken {
  token: string;
}

// ---- inspection -------------------------------------------------------------------------------

export type Dim = number | string;

export interface Tensor {
  name: string;
  datatype: string;
  shape: Dim[];
  optional?: boolean;
  labels?: string[] | null;
}

export interface GraphTensor {
  name: string;
  datatype: string;
  shape: Dim[];
}

export interface Graph {
  inputs: GraphTensor[];
  outputs: GraphTensor[];
  producer?: string | null;
  opset?: number | null;
}

export interface InspectedModel {
  name: string;
  backend: string;
  platform: string;
  versions: number[];
  max_batch_size: number;
  decoupled: boolean;
  inputs: Tensor[];
  outputs: Tensor[];
  config_text: string;
  config_effective: string;
  graph: Graph | null;
  provenance: Record<string, "model" | "default" | "config">;
  files: string[];
  warnings: string[];
}

export interface InspectionProblem {
  severity: "error" | "warning";
  model: string | null;
  code: string;
  message: string;
  detail?: string | null;
  hints?: string[];
}

export interface Inspection {
  models: InspectedModel[];
  problems: InspectionProblem[];
}

export interface ConfigProblem {
  severity: "error" | "warning";
  code: string;
  line: number | null;
  column: number | null;
  field: string | null;
  message: string;
  hint: string | null;
  fix: { label: string; text: string } | null;
}

export interface ConfigValidation {
  ok: boolean;
  problems: ConfigProblem[];
  config: Record<string, unknown> | null;
  effective: string;
}

// ---- uploads and models -----------------------------------------------------------------------

export interface ManifestFile {
  path: string;
  size: number;
  sha256: string;
}

export type StepStatus = "pending" | "running" | "succeeded" | "failed" | "skipped" | "canceled";

export interface UploadStep {
  name: string;
  title: string;
  status: StepStatus;
  detail: string | null;
  started_at: string | null;
  ended_at: string | null;
}

export interface ErrorDetail {
  code: string;
  message: string;
  /** The verbatim reason, often of another program. */
  detail?: string | null;
  hints?: string[];
}

export interface Upload {
  id: string;
  filename: string;
  size: number;
  offset: number;
  chunk_size: number;
  sha256: string | null;
  state: "uploading" | "verifying" | "inspecting" | "ready" | "failed";
  steps: UploadStep[];
  inspection: Inspection | null;
  manifest: ManifestFile[];
  error: ErrorDetail | null;
  created_at: string;
  expires_at: string | null;
}

export interface RepoModel {
  name: string;
  backend: string;
  platform: string;
  max_batch_size: number;
  inputs: Tensor[];
  outputs: Tensor[];
  versions: number[];
  config_text: string;
  config_effective: string;
}

export interface ConfigRevision {
  number: number;
  configs: Record<string, string>;
  message: string;
  author: string;
  created_at: string;
}

export interface ModelVersion {
  model: string;
  version: number;
  type: string;
  digest: string;
  size: number;
  manifest: ManifestFile[];
  source_filename: string;
  warnings: string[];
  created_by: string;
  created_at: string;
  archived: boolean;
  repo_models: RepoModel[];
  config_revisions: ConfigRevision[];
  used_by: string[];
}

export interface Model {
  name: string;
  description: string;
  tags: Record<string, string>;
  latest_version: number | null;
  archived: boolean;
  created_at: string;
  updated_at: string;
  latest: ModelVersion | null;
  used_by: string[];
}

// ---- endpoints --------------------------------------------------------------------------------

export type ServingState = "Healthy" | "Degraded" | "Unavailable" | "Stopped" | "Deploying";

export type ReplicaState =
  | "pending"
  | "downloading"
  | "starting"
  | "loading"
  | "warming"
  | "ready"
  | "draining"
  | "stopped"
  | "failed"
  | "unknown";

export interface Replica {
  id: string;
  ordinal: number;
  node: string;
  endpoint: string;
  deployment: string;
  state: ReplicaState;
  generation: number;
  restarts: number;
  /** 0 until known. */
  http_port: number;
  grpc_port: number;
  memory_bytes: number;
  downloaded_bytes: number;
  total_bytes: number;
  started_at: string | null;
  load_seconds: number | null;
  error: ErrorDetail | null;
  last_report_at: string | null;
}

export interface Deployment {
  name: string;
  endpoint: string;
  model: string;
  version: number;
  config_revision: number | null;
  instance_count: number;
  provisioning_state: string;
  serving_state: ServingState;
  traffic: number;
  error: ErrorDetail | null;
  environment: Record<string, string>;
  request_timeout_ms: number;
  retries: boolean;
  replicas: Replica[];
  created_at: string;
  updated_at: string;
  operation: string | null;
}

export interface EndpointModel {
  name: string;
  version: number;
  repo_models: string[];
}

export interface Endpoint {
  name: string;
  description: string;
  tags: Record<string, string>;
  auth_mode: string;
  provisioning_state: string;
  serving_state: ServingState;
  traffic: Record<string, number>;
  mirror_traffic: Record<string, number>;
  scoring_uri: string;
  grpc_target: string;
  plain_uri: string;
  ca_path: string;
  models: EndpointModel[];
  created_by: string;
  created_at: string;
  updated_at: string;
  deployments: Deployment[];
}

export interface EndpointKeys {
  primaryKey: string;
  secondaryKey: string;
}

export interface DeploymentCreate {
  name?: string;
  model: string;
  version: number;
  config_revision?: number;
  instance_count?: number;
  environment?: Record<string, string>;
  request_timeout_ms?: number;
  retries?: boolean;
  traffic?: number;
}

export interface DeployRequest {
  model: string;
  version: number;
  config_revision?: number;
  endpoint?: string;
  deployment?: string;
  instance_count?: number;
  traffic?: number;
}

export interface DeployResult {
  endpoint: string;
  deployment: string;
  scoring_uri: string;
  plain_uri: string;
  grpc_target: string;
  ca_path: string;
  model: string;
  version: number;
  model_name: string;
  models: string[];
  provisioning_state: string;
  idle_deployments?: string[];
}

export interface Snippets {
  curl: string;
  python_http: string;
  python_grpc: string;
}

export interface LogLine {
  id: number;
  at: string;
  replica_id: string;
  stream: string;
  text: string;
}

export interface MetricColumns {
  keys: string[];
  t: number[];
  v: (number | null)[][];
}

// ---- operations, events, nodes, overview ------------------------------------------------------

export type OperationState = "Queued" | "Running" | "Succeeded" | "Failed" | "Canceled";

export interface OperationStage {
  name: string;
  title: string;
  status: StepStatus;
  started_at: string | null;
  ended_at: string | null;
  detail: string | null;
  progress: number | null;
}

export interface Operation {
  id: string;
  kind: string;
  endpoint: string | null;
  deployment: string | null;
  state: OperationState;
  stages: OperationStage[];
  percent: number;
  error: ErrorDetail | null;
  result: DeployResult | null;
  deadline_at: string | null;
  created_by: string;
  created_at: string;
  finished_at: string | null;
}

export interface EventItem {
  seq: number;
  at: string;
  actor: string;
  verb: string;
  subject: string;
  severity: "info" | "warning" | "error";
  message: string;
  data: Record<string, unknown>;
}

export interface Gpu {
  index: number;
  uuid: string;
  name: string;
  memory_total_bytes: number;
  memory_used_bytes: number;
  /** 0..1 */
  utilization: number;
}

/** What the node said of itself in its last report. */
export interface NodeInfo {
  agent_version: string;
  address: string;
  cpu_count: number;
  /** 0..1 */
  cpu_utilization: number;
  memory_total_bytes: number;
  memory_used_bytes: number;
  disk_total_bytes: number;
  disk_free_bytes: number;
  cache_bytes: number;
  backends: string[];
  gpus: Gpu[];
  labels: Record<string, string>;
}

export interface NodeItem {
  id: string;
  name: string;
  state: string;
  cordoned: boolean;
  info: NodeInfo;
  /** The rule behind `state`. */
  rule?: { interval_s: number; suspect_after_s: number; offline_after_s: number };
  last_seen_at: string | null;
  age_s: number | null;
  replicas: Replica[];
}

export interface JoinToken {
  token: string;
  command: string;
  expires_at: string;
}

export interface AttentionItem {
  severity: "error" | "warning" | "info";
  title: string;
  detail: string;
  link: string;
}

export interface Overview {
  counts: {
    endpoints: number;
    models: number;
    nodes: number;
    nodes_online: number;
    replicas_ready: number;
    replicas_total: number;
  };
  attention: AttentionItem[];
  endpoints: (Endpoint & { live: { request_rate: number | null; p95_us: number | null; error_rate: number | null } })[];
  nodes: NodeItem[];
  recent_operations: Operation[];
  recent_events: EventItem[];
}

// ---- console socket ---------------------------------------------------------------------------

export interface ConsoleModel {
  name: string;
  versions: (number | string)[];
  max_batch_size: number;
  inputs: Tensor[];
  outputs: Tensor[];
  labels?: Record<string, string[]> | null;
}
