/** The test console's socket: made-up models whose answers have every kind of shape. */
import type { ConsoleModel } from "../src/api/types";
import { permissions } from "./people";

interface Input {
  name: string;
  datatype: string;
  shape: number[];
}
interface Output extends Input {
  data: (number | string | null)[];
  truncated: boolean;
  raw: string | null;
  stats: Record<string, number> | null;
}

const CLASSES = 20_000;
const MASK = 56;
const ANCHORS = 8400;
const IMAGE: Input = { name: "image", datatype: "FP32", shape: [3, 224, 224] };
const NUMBERS: Input = { name: "x", datatype: "FP32", shape: [4] };
const LABELS = ["person", "bicycle", "car", "dog"];

const model = (name: string, inputs: Input[], outputs: Input[], part: Partial<ConsoleModel> = {}): ConsoleModel =>
  ({
    name,
    versions: [1],
    max_batch_size: 8,
    decoupled: false,
    sequence: null,
    warmup: [],
    inputs,
    outputs,
    labels: {},
    ...part,
  }) as ConsoleModel;

const MODELS: ConsoleModel[] = [
  model(
    "street",
    [IMAGE],
    [
      { name: "boxes", datatype: "FP32", shape: [-1, 4] },
      { name: "scores", datatype: "FP32", shape: [-1] },
      { name: "labels", datatype: "INT64", shape: [-1] },
      { name: "mask", datatype: "FP32", shape: [3, MASK, MASK] },
    ],
    { labels: { labels: LABELS } },
  ),
  model("species", [NUMBERS], [{ name: "logits", datatype: "FP32", shape: [CLASSES] }], {
    labels: { logits: Array.from({ length: CLASSES }, (_, index) => `species ${index}`) },
  }),
  model("yolo", [{ name: "file", datatype: "BYTES", shape: [1] }], [{ name: "output0", datatype: "FP32", shape: [84, ANCHORS] }]),
  model("large", [NUMBERS], [{ name: "map", datatype: "FP32", shape: [1000, 1000] }], { max_batch_size: 0 }),
  model("words", [NUMBERS], [{ name: "text", datatype: "BYTES", shape: [1] }], { decoupled: true }),
];

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function floats(name: string, shape: number[], values: Float32Array): Output {
  const sum = values.reduce((total, value) => total + value, 0);
  const [min, max] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  return {
    name,
    datatype: "FP32",
    shape,
    data: Array.from(values.subarray(0, 100)),
    truncated: values.length > 100,
    raw: base64(new Uint8Array(values.buffer)),
    stats: { min, max, mean: sum / values.length, nan: 0, infinite: 0 },
  };
}

const wave = (seed: number) => Math.abs(Math.sin(seed * 12.9898) * 43_758.5453) % 1;

/** Three classes per pixel: ground below, a round thing in the middle. */
function maskScores(): Float32Array {
  const values = new Float32Array(3 * MASK * MASK);
  for (let row = 0; row < MASK; row += 1) {
    for (let column = 0; column < MASK; column += 1) {
      const at = row * MASK + column;
      values[at] = 0.5;
      values[MASK * MASK + at] = row > 38 ? 1 : 0;
      values[2 * MASK * MASK + at] = Math.hypot(row - 24, column - 30) < 13 ? 2 : 0;
    }
  }
  return values;
}

function street(): Output[] {
  const boxes = [68, 40, 172, 150, 8, 120, 90, 214, 150, 130, 220, 210];
  return [
    floats("boxes", [1, 3, 4], Float32Array.from(boxes)),
    floats("scores", [1, 3], Float32Array.from([0.94, 0.71, 0.22])),
    {
      name: "labels",
      datatype: "INT64",
      shape: [1, 3],
      data: [0, 2, 3],
      truncated: false,
      raw: null,
      stats: { min: 0, max: 3, mean: 1.7, nan: 0, infinite: 0 },
    },
    floats("mask", [1, 3, MASK, MASK], maskScores()),
  ];
}

/** Two things, each guessed at by some neighbouring anchors. */
function guesses(): Output[] {
  const values = new Float32Array(84 * ANCHORS);
  const guess = (anchor: number, [x, y, width, height]: [number, number, number, number], classId: number, score: number) =>
    [x, y, width, height].concat(score).forEach((value, at) => (values[(at < 4 ? at : 4 + classId) * ANCHORS + anchor] = value));
  for (let near = 0; near < 5; near += 1) {
    guess(100 + near, [0.3 + near / 100, 0.5, 0.4, 0.6], 0, 0.9 - near / 10);
    guess(700 + near, [0.75, 0.4 + near / 100, 0.3, 0.3], 2, 0.6 - near / 10);
  }
  return [floats("output0", [1, 84, ANCHORS], values)];
}

/** Green was trained anew: other scores. */
function outputsOf(name: string, deployment: string): Output[] {
  if (name === "yolo") return guesses();
  if (name === "street") return street();
  if (name === "species")
    return [
      floats(
        "logits",
        [1, CLASSES],
        Float32Array.from({ length: CLASSES }, (_, index) => wave(index) * (deployment === "green" && index > CLASSES / 2 ? 6 : 12)),
      ),
    ];
  return [
    floats(
      "map",
      [1000, 1000],
      Float32Array.from({ length: 1_000_000 }, (_, index) => Math.sin(index / 5e4) * Math.cos((index % 1000) / 90)),
    ),
  ];
}

const TIMING = { total_us: 9_400, gateway_us: 900, queue_us: 310, compute_input_us: 240, compute_infer_us: 7_600, compute_output_us: 180 };
const WORDS = ["Models ", "answer ", "one ", "word ", "at ", "a ", "time."];
const WORD_MS = 120;

type Emit = (message: unknown) => void;

function stream(id: string, emit: Emit): void {
  WORDS.forEach((word, index) =>
    setTimeout(() => {
      const output = { name: "text", datatype: "BYTES", shape: [1], data: [word], truncated: false, raw: null, stats: null };
      emit({ type: "response", id, index, at_us: (index + 1) * WORD_MS * 1000, outputs: [output] });
      if (index === WORDS.length - 1)
        emit({
          type: "result",
          id,
          outputs: [],
          responses: WORDS.length,
          timing: { ...TIMING, first_us: WORD_MS * 1000, total_us: WORDS.length * WORD_MS * 1000 },
          model_version: "1",
          deployment: "blue",
        });
    }, index * WORD_MS),
  );
}

/** Answers one message of the page. */
export function consoleAnswer(text: string, emit: Emit): void {
  const message = JSON.parse(text) as { op: string; id: string; model?: string; deployment?: string };
  const deployment = message.deployment ?? "blue";
  if (message.op === "metadata") {
    emit({
      type: "metadata",
      models: MODELS,
      may_infer: permissions().includes("invoke"),
      limits: { request_chars: 16 << 20, binary_bytes: 64 << 20, in_flight: 4 },
    });
  } else if (message.op === "infer" && message.model === "words") {
    stream(message.id, emit);
  } else if (message.op === "infer") {
    emit({ type: "accepted", id: message.id });
    setTimeout(
      () =>
        emit({
          type: "result",
          id: message.id,
          outputs: outputsOf(message.model ?? "", deployment),
          responses: null,
          timing: TIMING,
          model_version: "1",
          deployment,
        }),
      80,
    );
  }
}
