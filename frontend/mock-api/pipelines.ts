/** A pipeline of the made-up installation: an ensemble of three steps, of which one takes the time, and one calls a model that fails now and then. */
import type { ModelCalls, Pipeline, RepoModel, StepFigures } from "../src/api/types";

const ENSEMBLE = `# Reviews: text in, label out.
name: "minilm-sentiment"
platform: "ensemble"
max_batch_size: 16

input [
  { name: "text" data_type: TYPE_STRING dims: [ 1 ] }
]

output [
  { name: "scores" data_type: TYPE_FP32 dims: [ 3 ] }
]

ensemble_scheduling {
  step [
    {
      model_name: "tokenizer"  # splits words
      model_version: -1
      input_map { key: "text" value: "text" }
      output_map { key: "ids" value: "token_ids" }
      output_map { key: "mask" value: "token_mask" }
    },
    {
      model_name: "encoder"
      model_version: -1
      input_map { key: "input_ids" value: "token_ids" }
      input_map { key: "attention_mask" value: "token_mask" }
      output_map { key: "embedding" value: "embedding" }
    },
    {
      model_name: "classifier"
      model_version: -1
      input_map { key: "x" value: "embedding" }
      output_map { key: "y" value: "scores" }
    }
  ]
}
`;

const tensor = (name: string, datatype: string, shape: number[]) => ({ name, datatype, shape, labels: null });

function model(name: string, backend: string, inputs: RepoModel["inputs"], outputs: RepoModel["outputs"], text = ""): RepoModel {
  return {
    name,
    backend,
    platform: backend === "" ? "ensemble" : "",
    decoupled: false,
    max_batch_size: 16,
    inputs,
    outputs,
    versions: [1],
    config_text: text,
    config_effective: text || `name: "${name}"\nbackend: "${backend}"\nmax_batch_size: 16\n`,
  };
}

export const PIPELINE_MODELS: RepoModel[] = [
  model("minilm-sentiment", "", [tensor("text", "STRING", [1])], [tensor("scores", "FP32", [3])], ENSEMBLE),
  model("classifier", "onnxruntime", [tensor("x", "FP32", [384])], [tensor("y", "FP32", [3])]),
  model(
    "encoder",
    "onnxruntime",
    [tensor("input_ids", "INT64", [-1]), tensor("attention_mask", "INT64", [-1])],
    [tensor("embedding", "FP32", [384])],
  ),
  model("spelling", "python", [tensor("word", "STRING", [1])], [tensor("corrected", "STRING", [1])]),
  model("tokenizer", "python", [tensor("text", "STRING", [1])], [tensor("ids", "INT64", [-1]), tensor("mask", "INT64", [-1])]),
];

/** The text as JSON, as the server reads it. */
export const PIPELINE_CONFIG = {
  name: "minilm-sentiment",
  input: [{ name: "text", data_type: "TYPE_STRING", dims: ["1"] }],
  output: [{ name: "scores", data_type: "TYPE_FP32", dims: ["3"] }],
  ensemble_scheduling: {
    step: [
      { model_name: "tokenizer", input_map: { text: "text" }, output_map: { ids: "token_ids", mask: "token_mask" } },
      {
        model_name: "encoder",
        input_map: { input_ids: "token_ids", attention_mask: "token_mask" },
        output_map: { embedding: "embedding" },
      },
      { model_name: "classifier", input_map: { x: "embedding" }, output_map: { y: "scores" } },
    ],
  },
};

function step(name: string, queue_us: number, compute_us: number, share: number, over: Partial<StepFigures> = {}): StepFigures {
  return {
    name,
    step: true,
    executes: true,
    request_rate: 214,
    request_us: queue_us + compute_us + 90,
    queue_us,
    compute_us,
    mean_batch: 6.4,
    busy: 0.3,
    pending: 0,
    failure_rate: 0,
    share,
    slow: "",
    faulty: "",
    ...over,
  };
}

function called(
  caller: string,
  callee: string,
  call_rate: number,
  per_request: number,
  mean_us: number,
  over: Partial<ModelCalls> = {},
): ModelCalls {
  return { caller, callee, call_rate, per_request, mean_us, calls: 91_204, failure_rate: 0, last_at: new Date().toISOString(), ...over };
}

export function pipelineOf(endpoint: string, deployment: string): Pipeline {
  if (endpoint === "fraud-scores") return { deployment, seconds: 10, models: [], calls: [] };
  if (endpoint !== "sentiment") return { deployment, seconds: 10, models: [step("resnet50", 620, 4400, 1, { step: false })], calls: [] };
  return {
    deployment,
    seconds: 10,
    models: [
      {
        ...step("minilm-sentiment", 11_500, 9400, 0),
        step: false,
        executes: false,
        share: null,
        mean_batch: null,
        busy: null,
        failure_rate: 0.4,
      },
      step("classifier", 210, 160, 0.02),
      step("encoder", 10_900, 8100, 0.91, { busy: 0.97, pending: 23, slow: "queue" }),
      step("spelling", 20, 480, 0.03, { step: false, request_rate: 428, mean_batch: 1 }),
      step("tokenizer", 390, 1640, 0.04, { failure_rate: 0.4, faulty: "rising", mean_batch: 1 }),
    ],
    calls: [called("tokenizer", "lexicon", 0.4, 0.002, 90, { failure_rate: 0.4, calls: 31 }), called("tokenizer", "spelling", 428, 2, 540)],
  };
}
