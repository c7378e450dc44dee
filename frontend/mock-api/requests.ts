/** Requests of the made-up installation: one that was refused, one that was slow, and some as they come. */
import type { SeenRequest } from "../src/api/types";

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
