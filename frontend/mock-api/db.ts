/** The made-up installation: two busy endpoints, one in trouble, two nodes. */
import { PIPELINE_MODELS } from "./pipelines";
import type { Deployment, Endpoint, EventItem, Model, ModelVersion, NodeItem, Operation, Replica } from "../src/api/types";

const now = Date.now();
export const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

const sha = (seed: string): string =>
  Array.from({ length: 64 }, (_, i) => ((seed.charCodeAt(i % seed.length) * (i + 7)) % 16).toString(16)).join("");

function replica(id: string, ordinal: number, node: string, over: Partial<Replica> = {}): Replica {
  return {
    id,
    ordinal,
    node,
    state: "ready",
    generation: 1,
    gpus: null,
    restarts: 0,
    http_port: 31000 + ordinal,
    grpc_port: 32000 + ordinal,
    endpoint: "",
    deployment: "",
    downloaded_bytes: 0,
    total_bytes: 0,
    memory_bytes: 412 * 2 ** 20 + ordinal * 7_340_032,
    started_at: ago(86_000 + ordinal * 40),
    load_seconds: 3.8,
    runtime_version: "0.1.0",
    error: null,
    last_report_at: ago(1),
    ...over,
  };
}

function deployment(
  endpoint: string,
  name: string,
  model: string,
  version: number,
  replicas: Replica[],
  over: Partial<Deployment> = {},
): Deployment {
  return {
    etag: 'W/"1"',
    name,
    endpoint,
    project: "default",
    model,
    version,
    config_revision: null,
    description: "",
    tags: {},
    declared: {},
    instance_count: replicas.length,
    provisioning_state: "Succeeded",
    serving_state: "Healthy",
    traffic: 0,
    error: null,
    request_timeout_ms: 60_000,
    max_concurrent_requests_per_instance: null,
    max_queue_wait_ms: null,
    response_cache_bytes: null,
    autoscale: null,
    capture: null,
    autoscaling: null,
    retries: true,
    secret_environment: [],
    node_labels: {},
    instance_type: null,
    anti_affinity: "preferred",
    liveness_probe: null,
    readiness_probe: null,
    revision: 1,
    paused: false,
    environment: {},
    replicas,
    created_at: ago(90_000),
    updated_at: ago(3_000),
    operation: null,
    ...over,
  };
}

function endpoint(name: string, deployments: Deployment[], traffic: Record<string, number>, over: Partial<Endpoint> = {}): Endpoint {
  return {
    name,
    project: "default",
    description: "",
    tags: {},
    auth_mode: "key",
    cors_origins: [],
    max_request_bytes: null,
    rate_limit: null,
    sticky: null,
    traffic_rules: [],
    traffic_change: null,
    declared: {},
    left_out: [],
    unconfirmed: [],
    provisioning_state: "Succeeded",
    serving_state: "Healthy",
    traffic,
    etag: 'W/"1"',
    mirror_traffic: {},
    objectives: [],
    scoring_uri: `https://127.0.0.1:8443/endpoints/${name}/`,
    openapi_uri: `http://127.0.0.1:8080/api/v1/endpoints/${name}/openapi.json`,
    grpc_target: "127.0.0.1:8443",
    plain_uri: `http://127.0.0.1:8090/endpoints/${name}/`,
    ca_path: "/srv/shoal/tls/ca.pem",
    routed: true,
    models: deployments.map((item) => ({ name: item.model, version: item.version, repo_models: [item.model] })),
    created_by: "maria",
    created_at: ago(1_900_000),
    updated_at: ago(600),
    deployments: deployments.map((item) => ({ ...item, traffic: traffic[item.name] ?? 0 })),
    ...over,
  };
}

export const endpoints: Endpoint[] = [
  endpoint(
    "resnet50-prod",
    [
      deployment(
        "resnet50-prod",
        "blue",
        "resnet50",
        7,
        [0, 1, 2, 3].map((i) => replica(`r-blue-${i}`, i, i < 2 ? "node-a1" : "node-a2")),
      ),
      deployment("resnet50-prod", "green", "resnet50", 8, [replica("r-green-0", 0, "node-a1", { started_at: ago(1_500) })]),
    ],
    { blue: 80, green: 20 },
    {
      description: "Product photos, 1,000 classes",
      traffic_rules: [
        { header: "x-group", exact: "testers", deployment: "green" },
        { header: "x-debug", present: true, deployment: "blue" },
      ],
      sticky: { cookie: "arm", max_age_s: 86_400 },
    },
  ),
  endpoint("digits", [deployment("digits", "blue", "digits", 3, [replica("r-dig-0", 0, "node-a2")])], { blue: 100 }),
  endpoint(
    "sentiment",
    [
      deployment(
        "sentiment",
        "blue",
        "minilm-sentiment",
        2,
        [
          replica("r-sen-0", 0, "node-a1", {
            restarts: 4,
            state: "failed",
            error: {
              code: "RuntimeExited",
              message: "The runtime process ended with exit code 137",
              detail: "Killed by the system: out of memory (cgroup limit 512 MiB)",
              hints: ["Give the node more memory, or run fewer instances."],
            },
          }),
          replica("r-sen-1", 1, "node-a1", { restarts: 1 }),
        ],
        { serving_state: "Degraded", error: { code: "ReplicasDown", message: "1 of 2 replicas is not ready", detail: "", hints: [] } },
      ),
    ],
    { blue: 100 },
    { serving_state: "Degraded" },
  ),
  endpoint(
    "fraud-scores",
    [deployment("fraud-scores", "blue", "vendor/fraud.v2", 1, [], { serving_state: "Stopped", instance_count: 0 })],
    { blue: 0 },
    { serving_state: "Stopped" },
  ),
];

const PBTXT = `name: "resnet50"
backend: "onnxruntime"
max_batch_size: 64

input [
  {
    name: "data"
    data_type: TYPE_FP32
    dims: [ 3, 224, 224 ]
  }
]

output [
  {
    name: "resnetv24_dense0_fwd"
    data_type: TYPE_FP32
    dims: [ 1000 ]
  }
]

dynamic_batching {
  preferred_batch_size: [ 8, 16, 32 ]
  max_queue_delay_microseconds: 1000
}
`;

function version(model: string, number: number, over: Partial<ModelVersion> = {}): ModelVersion {
  return {
    model,
    project: "default",
    version: number,
    type: "onnx",
    digest: `sha256:${sha(model + number)}`,
    size: 102_442_450,
    file_count: 6,
    manifest: [
      { path: `${model}/1/model.onnx`, size: 102_440_000, sha256: sha(`${model}a`) },
      { path: `${model}/config.pbtxt`, size: 412, sha256: sha(`${model}b`) },
      { path: `${model}/labels.txt`, size: 21_675, sha256: sha(`${model}c`) },
      { path: `${model}/mean.npy`, size: 602_200, sha256: sha(`${model}d`) },
      { path: `${model}/tokenizer.json`, size: 61, sha256: sha(`${model}e`) },
      { path: `${model}/extra.lost`, size: 4_096, sha256: sha(`${model}f`) },
    ],
    source_filename: "resnet50-v2.onnx",
    lineage: null,
    description: "",
    tags: {},
    declared: {},
    warnings: [],
    code: { state: "none", reasons: [], approved_by: null, approved_at: null },
    created_by: "maria",
    created_at: ago(number * 90_000),
    archived: false,
    aliases: [],
    repo_models: [
      {
        name: model,
        backend: "onnxruntime",
        decoupled: false,
        platform: "",
        max_batch_size: 64,
        inputs: [{ name: "data", datatype: "FP32", shape: [3, 224, 224], optional: false }],
        outputs: [{ name: "resnetv24_dense0_fwd", datatype: "FP32", shape: [1000], labels: null }],
        versions: [1],
        config_text: PBTXT,
        config_effective: PBTXT,
      },
    ],
    etag: `W/"${model} ${number}"`,
    config_etag: `W/"${model} ${number} 0"`,
    config_revisions: [],
    used_by: [],
    ...over,
  };
}

export const versions: Record<string, ModelVersion[]> = {
  resnet50: [8, 7, 6].map((number) => version("resnet50", number, { used_by: number >= 7 ? ["resnet50-prod"] : [] })),
  digits: [
    version("digits", 3, {
      size: 1_204_331,
      source_filename: "digits.onnx",
      lineage: {
        kind: "stated",
        address: "https://github.com/acme/digits",
        run: "train-2026-11-27",
        run_url: "https://mlflow.example.org/#/experiments/4/runs/0a1b",
        commit: "9091d72a6328f2f6dd48f7c8e1c9aa6a7a0b9c1d",
        dataset: "mnist@v3",
        revision: "",
        etag: "",
        repository: "",
        experiment: "",
        by: "maria",
        at: ago(90_000),
        stated: ["address", "run", "run_url", "commit", "dataset"],
        stated_by: "maria",
        stated_at: ago(90_000),
      },
      used_by: ["digits"],
      warnings: ["The graph has no fixed batch axis name; max_batch_size was set to 4."],
      repo_models: [
        {
          name: "digits",
          backend: "onnxruntime",
          decoupled: false,
          platform: "",
          max_batch_size: 32,
          inputs: [
            { name: "image/x:0", datatype: "FP32", shape: [1, 8, 8] },
            { name: "scale_0.tmp_1", datatype: "FP32", shape: [-1], optional: true },
          ],
          outputs: [{ name: "probabilities", datatype: "FP32", shape: [10], labels: ["0", "1", "2"] }],
          versions: [1],
          config_text: "",
          config_effective: PBTXT.replaceAll("resnet50", "digits"),
        },
      ],
    }),
  ],
  "minilm-sentiment": [
    version("minilm-sentiment", 2, {
      used_by: ["sentiment"],
      size: 91_003_112,
      source_filename: "minilm.zip",
      type: "repository",
      repo_models: PIPELINE_MODELS,
    }),
  ],
  "vendor/fraud.v2": [version("vendor/fraud.v2", 1, { used_by: ["fraud-scores"], size: 4_003_112, source_filename: "fraud.onnx" })],
};

export const models: Model[] = Object.entries(versions).map(([name, list], index) => ({
  name,
  project: "default",
  description: index === 0 ? "ImageNet classifier for product photos" : "",
  tags: (index === 0 ? { team: "vision" } : {}) as Record<string, string>,
  latest_version: list[0]?.version ?? 0,
  etag: `W/"${name} ${list[0]?.version ?? 0}"`,
  archived: false,
  aliases: {},
  created_at: ago(2_000_000),
  updated_at: ago(4_000 * (index + 1)),
  latest: list[0] ?? null,
  used_by: [...new Set(list.flatMap((item) => item.used_by))],
}));

export const nodes: NodeItem[] = ["node-a1", "node-a2"].map((name, index) => ({
  id: `n-${index}`,
  name,
  state: "online",
  cordoned: index === 1,
  labels: { zone: "a", disk: "fast" } as Record<string, string>,
  conditions:
    index === 1 ? [{ code: "ClockSkew", message: "Its clock is 9 s ahead of ours: what it measures and logs is dated by ours." }] : [],
  drain: null,
  rule: { interval_s: 2, suspect_after_s: 4, offline_after_s: 8 },
  info: {
    agent_version: "0.1.0",
    wire_version: 1,
    boot_id: "b1",
    address: `10.0.4.${11 + index}`,
    cpu_count: 16 - index * 8,
    cpu_utilization: 0.42 - index * 0.2,
    memory_total_bytes: (64 >> index) * 2 ** 30,
    memory_used_bytes: (26 >> index) * 2 ** 30,
    disk_total_bytes: 480 * 2 ** 30,
    disk_free_bytes: 212 * 2 ** 30,
    cache_bytes: 3.4 * 2 ** 30,
    cache_idle_bytes: 1.2 * 2 ** 30,
    cache_quota_bytes: index === 0 ? 20 * 2 ** 30 : 0,
    cache_checked_at: index === 0 ? Date.now() / 1000 - 9 * 3600 : 0,
    cache_spoiled: 0,
    download_limit_bytes_per_s: index === 0 ? 50 * 2 ** 20 : 0,
    disk_pressure: false,
    shm_total_bytes: 8 * 2 ** 30,
    sandbox: {
      files: true,
      calls: true,
      network: true,
      signals: true,
      user: index === 0,
      view: true,
      proc: index === 0,
      processes: true,
      memory: false,
      cpu: false,
    },
    backends: ["onnxruntime"],
    gpus: [0, 1, 2, 3].slice(0, 4 - index * 3).map((gpu) => ({
      index: gpu,
      uuid: `GPU-${sha(name + gpu).slice(0, 8)}-4f1a-9c20-${sha(name + gpu).slice(8, 20)}`,
      name: "NVIDIA A10",
      memory_total_bytes: 24 * 2 ** 30,
      memory_used_bytes: [21.9, 8.2, 14.4, 0.6][gpu]! * 2 ** 30,
      utilization: [0.91, 0.38, 0.55, 0][gpu]!,
      temperature_c: [71, 54, 58, 36][gpu]!,
      power_w: gpu === 3 ? null : [148, 83, 102][gpu]!,
      power_limit_w: gpu === 3 ? null : 150,
      driver_version: "550.54.15",
      energy_j: gpu === 3 ? null : [4.1e9, 1.6e9, 2.2e9][gpu]!,
    })),
    labels: {},
  },
  last_seen_at: ago(2),
  certificate_ends_at: ago(-24 * 86_400),
  age_s: 2,
  replicas: endpoints.flatMap((item) =>
    item.deployments.flatMap((dep) =>
      dep.replicas.filter((one) => one.node === name).map((one) => ({ ...one, endpoint: item.name, deployment: dep.name })),
    ),
  ),
}));

let seq = 900;
function event(
  seconds: number,
  verb: string,
  subject: string,
  message: string,
  severity: EventItem["severity"] = "info",
  actor = "maria",
): EventItem {
  seq -= 1;
  return { seq, at: ago(seconds), actor, verb, subject, severity, message, data: {}, link: null, digest: "" };
}

export const events: EventItem[] = [
  event(40, "deployment.ready", "endpoint/resnet50-prod", "green passed readiness on node-a1, loaded in 3.8 s", "info", "node-a1"),
  event(95, "deployment.loading", "endpoint/resnet50-prod", "green is loading resnet50 version 8"),
  event(400, "replica.failed", "endpoint/sentiment", "Replica 0 of blue ended with exit code 137: out of memory", "error", "node-a1"),
  event(1_260, "endpoint.slow", "endpoint/resnet50-prod", "blue p99 above 25 ms for 2 min", "warning", "shoal"),
  event(9_000, "traffic.set", "endpoint/resnet50-prod", "Traffic set to blue 80, green 20"),
  event(92_000, "node.joined", "node/node-a2", "node-a2 joined", "info", "maria"),
];

const STAGES = ["validate", "place", "download", "load", "warm", "route"] as const;

function operation(id: string, name: string, dep: string, state: Operation["state"], seconds: number): Operation {
  const failed = state === "Failed";
  return {
    id,
    kind: "deploy",
    project: "default",
    endpoint: name,
    deployment: dep,
    state,
    stages: STAGES.map((stage, index) => ({
      name: stage,
      title: stage[0]?.toUpperCase() + stage.slice(1),
      status: failed ? (index < 3 ? "succeeded" : index === 3 ? "failed" : "pending") : "succeeded",
      started_at: failed && index > 3 ? null : ago(seconds - index),
      ended_at: failed && index > 3 ? null : ago(seconds - index - 1),
      detail: "",
      progress: null,
    })),
    percent: failed ? 60 : 100,
    error: failed
      ? {
          code: "ModelLoadFailed",
          message: "ONNX Runtime refused the graph",
          detail: "onnxruntime: Opset 99 is under development; official support is up to opset 24",
          hints: ["Export the model with opset 24 or lower, and upload it as a new version."],
        }
      : null,
    result: null,
    deadline_at: ago(seconds - 600),
    created_by: "maria",
    created_at: ago(seconds),
    finished_at: ago(seconds - 8),
  };
}

export const operations: Operation[] = [
  operation("0b7c1e52-aa", "resnet50-prod", "green", "Succeeded", 100),
  operation("51ad90c4-bb", "sentiment", "green", "Failed", 3_000),
  operation("9c00e17f-cc", "digits", "blue", "Succeeded", 90_000),
];
