/** Requests of the made-up installation: one that was refused, one that was slow, and some as they come. */
import type { ModelSpan, RequestBar, RequestStory, SeenRequest } from "../src/api/types";

const ANY: SeenRequest = {
  id: "0d6f7f0e-6f2a-4a0b-9a55-52c0f6a4d1aa",
  deployment: "blue",
  at: Date.now() / 1000 - 4,
  why: "sampled",
  method: "POST",
  path: "/v2/models/resnet50/infer",
  status: 200,
  status_class: "2xx",
  grpc_status: null,
  replica: "r-blue-0",
  node: "gpu-a1",
  host: "10.0.0.7:9001",
  attempts: 1,
  duration_us: 12_400,
  receive_us: 900,
  replica_us: 11_300,
  send_us: 200,
  request_bytes: 602_240,
  response_bytes: 4_120,
  as_json: false,
  flags: "",
  details: "via_upstream",
};

const seenRequests: SeenRequest[] = [
  {
    ...ANY,
    id: "5a1c0f7e-10f9-4f0c-8a5d-91be6a40a7f3",
    at: ANY.at + 2,
    why: "failed",
    deployment: "",
    status: 401,
    status_class: "4xx",
    replica: "",
    node: "",
    host: "",
    attempts: 0,
    duration_us: null,
    receive_us: 0,
    replica_us: null,
    send_us: 0,
    response_bytes: 96,
    details: "lua_response",
  },
  {
    ...ANY,
    id: "c7a0b4de-3b1f-47c5-8d0a-6b2f5f0e9d11",
    at: ANY.at + 1,
    why: "slow",
    duration_us: 930_000,
    receive_us: 17_800,
    replica_us: 912_000,
    send_us: 200,
  },
  ANY,
];

export function requestsOf(endpoint: string, query: URLSearchParams): SeenRequest[] {
  if (endpoint !== "resnet50-prod") return [];
  const found = seenRequests.filter((one) => one.id.startsWith(query.get("id") ?? ""));
  return query.get("status") === "failed" ? found.filter((one) => one.status_class !== "2xx") : found;
}

const NOTHING = { accept_us: null, queue_us: null, input_us: null, infer_us: null, output_us: null };
const STEP: ModelSpan = {
  model: "resnet50",
  version: 3,
  parent: 0,
  via: "step",
  start_us: 4_000,
  total_us: 890_000,
  batch: 8,
  error: "",
  accept_us: 0,
  queue_us: 801_000,
  input_us: 2_000,
  infer_us: 86_000,
  output_us: 1_000,
};
const SPANS: ModelSpan[] = [
  { ...STEP, ...NOTHING, model: "classify", version: 1, parent: -1, via: "", start_us: 0, total_us: 905_000, batch: 0 },
  {
    ...STEP,
    model: "resize",
    version: 1,
    start_us: 200,
    total_us: 3_700,
    batch: 1,
    queue_us: 100,
    input_us: 100,
    infer_us: 3_400,
    output_us: 50,
  },
  STEP,
];
const bar = (what: RequestBar["what"], depth: number, start_us: number, took_us: number, more: Partial<RequestBar> = {}): RequestBar => ({
  what,
  depth,
  start_us,
  took_us,
  span: null,
  leaf: true,
  slow: false,
  ...more,
});
const BARS: RequestBar[] = [
  bar("receive", 0, 0, 17_800),
  bar("inside", 0, 17_800, 912_000, { leaf: false }),
  bar("model", 1, 21_300, 905_000, { span: 0, leaf: false }),
  bar("model", 2, 21_500, 3_700, { span: 1, leaf: false }),
  bar("queue", 3, 21_500, 100, { span: 1 }),
  bar("infer", 3, 21_700, 3_400, { span: 1 }),
  bar("model", 2, 25_300, 890_000, { span: 2, leaf: false }),
  bar("queue", 3, 25_300, 801_000, { span: 2, slow: true }),
  bar("input", 3, 826_300, 2_000, { span: 2 }),
  bar("infer", 3, 828_300, 86_000, { span: 2 }),
  bar("output", 3, 914_300, 1_000, { span: 2 }),
  bar("send", 0, 929_800, 200),
];

export function storyOf(endpoint: string, id: string): RequestStory[] {
  const seen = requestsOf(endpoint, new URLSearchParams({ id }))[0];
  if (!seen) return [];
  if (seen.why !== "slow") {
    const told = seen.host ? "Its replica kept no times of it." : "The gateway answered by itself: no replica had it.";
    return [
      {
        seen,
        trace: null,
        bars: seen.host ? [bar("receive", 0, 0, 900), bar("inside", 0, 900, 11_300), bar("send", 0, 12_200, 200)] : [],
        told,
      },
    ];
  }
  const trace = {
    replica: "r-blue-0",
    node: "gpu-a1",
    deployment: "blue",
    at: seen.at,
    why: "slow" as const,
    spans: SPANS,
    left_out: 0,
    shared_with: [ANY.id],
  };
  return [{ seen, trace, bars: BARS, told: "" }];
}
