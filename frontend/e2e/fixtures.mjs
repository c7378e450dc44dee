/** What the mocked server of the browser checks says: one model with odd tensor names, one deploy, one endpoint. */
export const T0 = Date.parse("2026-11-21T09:00:00Z");
export const at = (seconds) => new Date(T0 + seconds * 1000).toISOString();

export const COMPLETE = `name: "resnet50"
backend: "onnxruntime"
max_batch_size: 4

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
`;

export const WRITTEN = `name: "resnet50"
backend: "onnxruntime"
max_batch_size: 32  # fits the small boxes

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

# two copies keep the queue short
instance_group [
  {
    count: 2
    kind: KIND_CPU
  }
]

dynamic_batching {
  preferred_batch_size: [ 8, 16, 64 ]
  max_queue_delay_microseconds: 10000
}

parameters { key: "owner" value: { string_value: "vision" } }
`;

const inputs = [{ name: "data", datatype: "FP32", shape: [3, 224, 224] }];
const outputs = [{ name: "resnetv24_dense0_fwd", datatype: "FP32", shape: [1000], labels: null }];

export const upload = (part = {}) => ({
  id: "u1",
  filename: "resnet50-v2.onnx",
  size: 102_442_450,
  offset: 102_442_450,
  chunk_size: 8_388_608,
  sha256: "9c0ad2e11dd45ae0cb1e6dc56ef1c1ae9f5cbf0e6bb2b1cde8e2a1de34b2c9a1",
  state: "ready",
  steps: [
    {
      name: "verify",
      title: "Verify the checksum",
      status: "succeeded",
      detail: "SHA-256 as announced",
      started_at: at(0),
      ended_at: at(0.42),
    },
    { name: "unpack", title: "Unpack", status: "succeeded", detail: "1 file", started_at: at(0.42), ended_at: at(0.5) },
    {
      name: "inspect",
      title: "Read the graph",
      status: "succeeded",
      detail: "1 input, 1 output, auto-completed",
      started_at: at(0.5),
      ended_at: at(2.6),
    },
  ],
  inspection: {
    models: [
      {
        name: "resnet50",
        backend: "onnxruntime",
        platform: "onnxruntime_onnx",
        versions: [1],
        max_batch_size: 32,
        decoupled: false,
        inputs,
        outputs,
        config_text: WRITTEN,
        config_effective: COMPLETE,
        graph: { inputs, outputs, producer: "mxnet", opset: 17 },
        provenance: {
          max_batch_size: "config",
          inputs: "model",
          outputs: "model",
          instance_group: "config",
          dynamic_batching: "config",
        },
        files: ["1/model.onnx", "config.pbtxt"],
        warnings: ["The graph was exported with a fixed image size; other sizes are refused."],
      },
    ],
    problems: [],
  },
  manifest: [{ path: "resnet50/1/model.onnx", size: 102_442_450, sha256: "9c0a" }],
  error: null,
  created_at: at(-60),
  expires_at: at(86_400),
  ...part,
});

export function validate(text) {
  const problems = [];
  const lines = text.split("\n");
  const find = (word) => lines.findIndex((line) => line.includes(word)) + 1;
  if (text.includes("64 ]")) {
    problems.push({
      severity: "error",
      code: "PreferredBatchTooLarge",
      line: find("preferred_batch_size"),
      column: 3,
      field: "dynamic_batching.preferred_batch_size",
      message: "64 is larger than max_batch_size (32)",
      hint: "The runtime refuses to load the model: a preferred batch can never be formed.",
      fix: { label: "Remove 64", text: text.replace(", 64 ]", " ]") },
    });
  }
  if (text.includes("microseconds: 10000")) {
    problems.push({
      severity: "warning",
      code: "QueueDelayLong",
      line: find("max_queue_delay"),
      column: 3,
      field: "dynamic_batching.max_queue_delay_microseconds",
      message: "Every request may wait up to 10 ms in the queue",
      hint: "Most interactive models use 100 to 2,000 µs.",
      fix: { label: "Set 1,000 µs", text: text.replace("microseconds: 10000", "microseconds: 1000") },
    });
  }
  return { ok: problems.every((problem) => problem.severity !== "error"), problems, config: {}, effective: text };
}

export const result = {
  endpoint: "resnet50",
  deployment: "blue",
  scoring_uri: "https://127.0.0.1:8443/endpoints/resnet50/",
  plain_uri: "http://127.0.0.1:8090/endpoints/resnet50/",
  grpc_target: "127.0.0.1:8090",
  ca_path: "/srv/shoal/tls/ca.pem",
  model: "resnet50",
  version: 1,
  model_name: "resnet50",
  models: ["resnet50"],
  provisioning_state: "Succeeded",
};

const STAGES = [
  ["validate", "Check the request", "resnet50 version 1, 1 replica"],
  ["place", "Choose a node", "node-a has 6.2 GiB free"],
  ["download", "Copy the model to the node", "97.7 MiB"],
  ["load", "Load the model", null],
  ["warm", "Warm up", null],
  ["route", "Send traffic", null],
];

export function operation(part = {}, done = 3) {
  const now = Date.now();
  const iso = (seconds) => new Date(now + seconds * 1000).toISOString();
  return {
    id: "op1",
    kind: "deploy",
    endpoint: "resnet50",
    deployment: "blue",
    state: "Running",
    stages: STAGES.map(([name, title, detail], index) => ({
      name,
      title,
      detail: index <= done ? detail : null,
      status: index < done ? "succeeded" : index === done ? "running" : "pending",
      started_at: index <= done ? iso(-9 + index * 2) : null,
      ended_at: index < done ? iso(-9 + index * 2 + 1.6) : null,
      progress: index === done ? 0.62 : null,
    })),
    percent: 58,
    error: null,
    result: null,
    deadline_at: iso(280),
    created_by: "admin",
    created_at: iso(-9),
    finished_at: null,
    ...part,
  };
}

export const succeeded = () => {
  const done = operation({ state: "Succeeded", percent: 100, result, finished_at: new Date().toISOString() }, 6);
  return done;
};

export const failed = () => {
  const base = operation({}, 3);
  base.stages[3] = {
    ...base.stages[3],
    status: "failed",
    ended_at: new Date().toISOString(),
    detail: "the runtime stopped before it was ready",
  };
  return {
    ...base,
    state: "Failed",
    finished_at: new Date().toISOString(),
    error: {
      code: "ModelLoadFailed",
      message: "ONNX Runtime refused the model: it needs opset 24, this version knows up to 23.",
      detail:
        "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from model.onnx failed: Unsupported model IR version: 12, max supported IR version: 11",
      hints: ["Export again with opset_version=20.", "Or raise the runtime's onnxruntime package."],
    },
  };
};

export const logs = () => ({
  lines: Array.from({ length: 14 }, (_, index) => ({
    id: index,
    at: at(index),
    replica_id: "r1",
    stream: index % 5 === 4 ? "stderr" : "stdout",
    text: [
      "worker_runtime 0.1.0 starts",
      "model repository /cache/replicas/r1",
      "onnxruntime: 2 instances on CPU, 1 thread each",
      "resnet50: graph optimised in 412 ms",
      "warning: 1 node was assigned to the default provider",
    ][index % 5],
  })),
});

const replica = {
  id: "r1",
  ordinal: 0,
  node: "node-a",
  state: "ready",
  generation: 1,
  restarts: 0,
  http_port: 1,
  grpc_port: 2,
  memory_bytes: 5e8,
  started_at: at(0),
  load_seconds: 3.2,
  error: null,
  last_report_at: at(5),
};
export const deployment = {
  name: "blue",
  endpoint: "digits",
  model: "digits",
  version: 3,
  config_revision: null,
  instance_count: 1,
  provisioning_state: "Succeeded",
  serving_state: "Ready",
  traffic: 100,
  error: null,
  request_timeout_ms: 30_000,
  max_queue_wait_ms: null,
  retries: 1,
  replicas: [replica],
  created_at: at(0),
  updated_at: at(0),
  operation: "op1",
};
export const endpoint = {
  name: "digits",
  description: "",
  tags: {},
  auth_mode: "key",
  provisioning_state: "Succeeded",
  serving_state: "Healthy",
  traffic: { blue: 100 },
  mirror_traffic: {},
  scoring_uri: "https://127.0.0.1:8443/endpoints/digits/",
  grpc_target: "127.0.0.1:8090",
  plain_uri: "http://127.0.0.1:8090/endpoints/digits/",
  ca_path: "/srv/shoal/tls/ca.pem",
  models: [{ name: "digits", version: 3, repo_models: ["digits"] }],
  created_by: "admin",
  created_at: at(-9000),
  updated_at: at(0),
  deployments: [deployment],
};

export const consoleModels = [
  {
    name: "digits",
    versions: [3],
    max_batch_size: 8,
    inputs: [
      { name: "image", datatype: "UINT8", shape: [28, 28, 1] },
      { name: "scale_0.tmp_1", datatype: "FP32", shape: [4] },
      { name: "a/b:0", datatype: "INT64", shape: [1] },
      { name: "augment", datatype: "BOOL", shape: [1], optional: true },
    ],
    outputs: [
      { name: "probabilities", datatype: "FP32", shape: [10] },
      { name: "embedding", datatype: "FP32", shape: [64] },
    ],
    labels: { probabilities: ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"] },
  },
];

const scores = [0.3, -1.2, 0.8, 2.1, -0.4, 1.3, -2.2, 7.9, 0.1, 3.4];
export const inferResult = (id) => ({
  type: "result",
  id,
  model_version: "3",
  outputs: [
    {
      name: "probabilities",
      datatype: "FP32",
      shape: [1, 10],
      data: scores,
      truncated: false,
      stats: { min: -2.2, max: 7.9, mean: 1.21 },
    },
    {
      name: "embedding",
      datatype: "FP32",
      shape: [1, 8, 8],
      data: Array.from({ length: 64 }, (_, index) => Math.sin(index) / 3),
      truncated: false,
      stats: { min: -0.33, max: 0.33, mean: 0.002 },
    },
  ],
  timing: {
    total_us: 6120,
    gateway_us: 900,
    queue_us: 310,
    compute_input_us: 140,
    compute_infer_us: 3900,
    compute_output_us: 90,
  },
});
