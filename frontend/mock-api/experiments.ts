/** How the arms of the made-up installation compare. */
import type { ComparedOutput, Experiment, ExperimentAnswers, ExperimentArm } from "../src/api/types";

const BLUE: ExperimentArm = {
  deployment: "blue",
  model: "resnet50",
  version: 7,
  revision: 1,
  asked_percent: 80,
  measured_percent: 80.4,
  rules: [],
  requests: 7_390,
  failed: 11,
  refused: 0,
  failed_share: 0.0015,
  failed_low: 0.0008,
  failed_high: 0.0027,
  p50_us: 7_600,
  p95_us: 11_800,
  p99_us: 18_900,
  missing: 0,
  verdict: "no_difference",
  text: "The others are compared with blue.",
  differences: [],
  golden: null,
  answers: null,
};

const GREEN: ExperimentArm = {
  ...BLUE,
  deployment: "green",
  version: 8,
  asked_percent: 20,
  measured_percent: 19.6,
  rules: ["x-group = testers -> green"],
  requests: 1_805,
  failed: 41,
  failed_share: 0.0227,
  failed_low: 0.0168,
  failed_high: 0.0307,
  p95_us: 12_400,
  verdict: "worse",
  text: "green is worse than blue: Server errors (5xx): 41 of 1,805 of green, 11 of 7,390 of blue, with a confidence of 99.999 %.",
  differences: [
    {
      measure: "errors",
      title: "Server errors (5xx)",
      bad: 41,
      of: 1_805,
      baseline_bad: 11,
      baseline_of: 7_390,
      worse: 0.99999,
      better: 0,
      needed: 0.993,
      verdict: "worse",
    },
    {
      measure: "latency_p95",
      title: "Latency, p95",
      bad: 84,
      of: 1_611,
      baseline_bad: 330,
      baseline_of: 6_600,
      worse: 0.02,
      better: 0,
      needed: 0.999,
      verdict: "no_difference",
    },
  ],
  golden: { at: "2026-01-05T10:00:00Z", cases: 3, wrong: 0, unanswered: 0, text: "green answers 3 of 3 golden cases as expected." },
  answers: { differed: 1, inputs: 240, baseline_differed: 0, baseline_inputs: 960, worse: 0.3, example: "scores differ" },
};

const BUSY: Experiment = {
  endpoint: "resnet50-prod",
  seconds: 3_600,
  baseline: "blue",
  interval: 0.95,
  changed_at: "2026-01-05T09:30:00Z",
  notes: ["Requests that a rule sends to a deployment count for it, though no lot was drawn: who they come from may be what differs."],
  arms: [BLUE, GREEN],
};

const ALONE: Experiment = {
  ...BUSY,
  changed_at: null,
  notes: [],
  arms: [
    {
      ...BLUE,
      asked_percent: 100,
      measured_percent: null,
      requests: 0,
      failed: 0,
      failed_share: null,
      failed_low: 0,
      failed_high: 1,
      p50_us: null,
      p95_us: null,
      p99_us: null,
      missing: 200,
      verdict: "too_little_data",
      text: "0 of 200 requests of blue, 200 are missing.",
    },
  ],
};

export const experimentOf = (endpoint: string): Experiment => (endpoint === "resnet50-prod" ? BUSY : { ...ALONE, endpoint });

const SAME: ComparedOutput = {
  model: "species",
  output: "logits",
  compared: 102,
  agreed: 102,
  schema: 0,
  schema_text: "",
  largest: 0,
  rows: 102,
  best: 102,
};

/** With `inputs: 0` of an installation where nothing is there to be asked. */
export function answersOf(endpoint: string, body: Record<string, unknown>): ExperimentAnswers {
  const arm = { refused: 0, unanswered: 0, schema: 0, golden: { cases: 2, wrong: 0, unanswered: 0 } };
  if (body["inputs"] === 0) {
    const none = { ...arm, compared: 0, agreed: 0, golden: { cases: 0, wrong: 0, unanswered: 0 }, outputs: [] };
    return {
      endpoint,
      baseline: "blue",
      seconds: 0,
      sources: [{ source: "golden", deployment: "", found: 0, asked: 0 }],
      missing: [
        { code: "no_golden_cases", deployment: "", count: 0, text: "" },
        { code: "no_capture", deployment: "green", count: 0, text: "" },
      ],
      arms: [
        { ...none, deployment: "blue" },
        { ...none, deployment: "green" },
      ],
      differing: [],
    };
  }
  return {
    endpoint,
    baseline: "blue",
    seconds: 3.4,
    sources: [
      { source: "golden", deployment: "", found: 2, asked: 2 },
      { source: "captured", deployment: "blue", found: 50, asked: 50 },
      { source: "captured", deployment: "green", found: 50, asked: 50 },
    ],
    missing: [{ code: "unusable", deployment: "green", count: 3, text: "" }],
    arms: [
      { ...arm, deployment: "blue", compared: 102, agreed: 102, outputs: [SAME] },
      {
        ...arm,
        deployment: "green",
        compared: 102,
        agreed: 95,
        refused: 1,
        schema: 1,
        golden: { cases: 2, wrong: 1, unanswered: 0 },
        outputs: [
          {
            ...SAME,
            compared: 101,
            agreed: 95,
            rows: 100,
            best: 97,
            schema: 1,
            schema_text: "has shape [1, 3], expected [1, 4]",
            largest: 0.61,
          },
        ],
      },
    ],
    differing: [
      {
        deployment: "green",
        source: "captured",
        model: "species",
        case: "",
        captured_by: "green",
        captured_at: "2026-01-05T09:59:00+00:00",
        file: "0123456789abcdef0123456789abcdef",
        line: 7,
        text: "no such class (400)",
        inputs: ["x FP32 [1, 4]: 9, 2, 3, 4"],
        outputs: [],
      },
      {
        deployment: "green",
        source: "golden",
        model: "species",
        case: "an owl",
        captured_by: "",
        captured_at: "",
        file: "",
        line: 0,
        text: "logits 2 of 4 values differ, most of all [0, 3]: 0.39, expected 1",
        inputs: ["x FP32 [1, 4]: 1, 2, 3, 4"],
        outputs: [
          {
            output: "logits",
            text: "2 of 4 values differ, most of all [0, 3]: 0.39, expected 1",
            at: [
              [0, 0],
              [0, 1],
              [0, 2],
              [0, 3],
            ],
            baseline: ["0", "0", "0", "1"],
            own: ["0", "0", "0.61", "0.39"],
          },
        ],
      },
    ],
  };
}
